/** The presets that config/policy.yaml may name. */
export const presetNames = ['git-host', 'npm', 'pypi', 'crates', 'slack', 'payments-api', 'mcp'] as const
export type PresetName = (typeof presetNames)[number]
