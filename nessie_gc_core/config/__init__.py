"""Configuration: how connectors are chosen and given their options, and the settings of the services."""
