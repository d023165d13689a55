"""SELECT lists of model queries: which functions of attributes a plan gives."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from penstock.algebra.models import MappedAttribute, ModelMap, ModelStage
from penstock.language.model_clauses import ModelSettings
from penstock.language.model_expressions import SymbolicAtom
from penstock.language.model_joins import check_power
from penstock.language.model_polynomials import SymbolicPolynomial
from penstock.language.model_scopes import TimedAttribute
from penstock.language.places import ScriptSource

NEAR_DEGREE = 2
"""The highest power of time in models that come near to roots and ratios."""


@dataclass(frozen=True, slots=True)
class WantedFunction:
    """A function of attributes that a plan is to give, its name, and where it stands."""

    name: str
    polynomial: SymbolicPolynomial
    node: exp.Expr


@dataclass(slots=True)
class MapBuilder:
    """Puts maps over a stage until it gives what is wanted.

    `degrees` and `names` are of the attributes of the stage; `atoms` are what polynomials name by
    numbers below zero.
    """

    stage: ModelStage
    names: list[str]
    degrees: list[int]
    keys: int
    atoms: dict[int, SymbolicAtom]
    settings: ModelSettings
    source: ScriptSource
    wanted: list[WantedFunction] = field(default_factory=list)

    def build(self) -> list[int]:
        """Give the stage what is wanted as its attributes; gives their degrees."""
        while (inside := self._inside()) != []:
            self._layer(inside)
        made = [self._mapped(each.name, each.polynomial, each.node) for each in self.wanted]
        degrees = [self._degree(each.polynomial) for each in self.wanted]
        self._map(made)
        return degrees

    def _inside(self) -> list[int]:
        """Give the atoms that stand inside others, or beside them, and name no atom themselves."""
        needed: set[int] = set()
        nested: set[int] = set()
        pending = [each.polynomial for each in self.wanted]
        for polynomial in pending:
            met = {number for number in polynomial.variables if number < 0}
            needed |= met
            nested |= met if polynomial.bare is None else set()
        for number in sorted(self.atoms, reverse=False):
            if number in needed:
                own = {n for each in _parts(self.atoms[number]) for n in each.variables if n < 0}
                needed |= own
                nested |= own
        return [
            number
            for number in sorted(nested, reverse=True)
            if all(n >= 0 for each in _parts(self.atoms[number]) for n in each.variables)
        ]

    def _layer(self, ready: Sequence[int]) -> None:
        """Make atoms attributes, beside all that there were."""
        count = len(self.names)
        made = [
            self._mapped(name, SymbolicPolynomial.variable(place), None)
            for place, name in enumerate(self.names)
        ]
        by: dict[int, SymbolicPolynomial] = {}
        for place, number in enumerate(ready):
            polynomial = SymbolicPolynomial.variable(number)
            made.append(self._mapped(f"f{count + place}", polynomial, self.atoms[number].node))
            by[number] = SymbolicPolynomial.variable(count + place)
        degrees = [*self.degrees, *(self._degree(SymbolicPolynomial.variable(n)) for n in ready)]
        self._map(made)
        self.names += [f"f{count + place}" for place in range(len(ready))]
        self.degrees = degrees
        self.wanted = [
            WantedFunction(each.name, each.polynomial.substituted(by), each.node)
            for each in self.wanted
        ]
        self.atoms = {
            number: _substituted(atom, by)
            for number, atom in self.atoms.items()
            if number not in by
        }

    def _map(self, made: Sequence[MappedAttribute]) -> None:
        self.stage = ModelMap(input=self.stage, attributes=tuple(made), key=tuple(range(self.keys)))

    def _degree(self, polynomial: SymbolicPolynomial) -> int:
        number = polynomial.bare
        if number is None or number >= 0:
            return polynomial.degree(self.degrees)
        atom = self.atoms[number]
        is_abs = atom.function == "abs"
        return atom.argument.degree(self.degrees) if is_abs else NEAR_DEGREE

    def _mapped(
        self, name: str, polynomial: SymbolicPolynomial, node: exp.Expr | None
    ) -> MappedAttribute:
        count = len(self.names)
        number = polynomial.bare
        if number is None or number >= 0:
            check_power(polynomial, self.degrees, self.source, node)
            return MappedAttribute(name=name, polynomial=polynomial.node(count))
        atom = self.atoms[number]
        for part in _parts(atom):
            check_power(part, self.degrees, self.source, atom.node)
        nearness = self.settings.nearness
        if not nearness:
            fact = f"Models only come near to {atom.node.sql('duckdb')}, and nothing says how near."
            remedy = "Add ERROR WITHIN and an amount, such as ERROR WITHIN 0.5; or say "
            raise self.source.error(
                "MDL-020", fact, f"{remedy}OPTIONS (tolerance = 0.05).", at=atom.node
            )
        assert atom.function != "parameter"
        return MappedAttribute(
            name=name,
            polynomial=atom.argument.node(count),
            function=atom.function,
            divisor=None if atom.divisor is None else atom.divisor.node(count),
            tolerance=nearness,
        )


def _parts(atom: SymbolicAtom) -> list[SymbolicPolynomial]:
    return [atom.argument, *([] if atom.divisor is None else [atom.divisor])]


def _substituted(atom: SymbolicAtom, by: Mapping[int, SymbolicPolynomial]) -> SymbolicAtom:
    divisor = None if atom.divisor is None else atom.divisor.substituted(by)
    argument = atom.argument.substituted(by)
    return SymbolicAtom(
        atom.function, argument, atom.node, divisor, atom.name, atom.is_never_negative
    )


def is_difference(polynomial: SymbolicPolynomial, attributes: Sequence[TimedAttribute]) -> bool:
    """Say whether a function takes attributes from each other, so that it may come near zero."""
    factors = [factor for powers, factor in polynomial.terms.items() if powers]
    mixed = min(factors, default=0) < 0 < max(factors, default=0)
    variables = [n for n in polynomial.variables if n >= 0]
    return mixed or any(attributes[n].is_difference for n in variables)
