/** The sections of the settings, in the order of their menu. */
export const settingsParts = [
  { id: 'providers', title: 'Providers and models' },
  { id: 'integrations', title: 'Integrations' },
  { id: 'channels', title: 'Channels' },
  { id: 'credentials', title: 'Credentials' },
  { id: 'limits', title: 'Limits' },
  { id: 'people', title: 'People' },
  { id: 'browsers', title: 'Browsers' },
  { id: 'backup', title: 'Backup' },
  { id: 'appearance', title: 'Appearance' },
] as const

export type SettingsPart = (typeof settingsParts)[number]['id']
