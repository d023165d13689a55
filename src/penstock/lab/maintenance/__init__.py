"""Experiments with views: schedules of their maintenance, and what freshness costs."""
