import type { IconName } from '../design/icons.tsx'

export interface PageEntry {
  readonly path: string
  readonly title: string
  readonly icon: IconName
}

/** The pages that the menu and the palette list. */
export const menu: readonly PageEntry[] = [
  { path: '/chat', title: 'Chat', icon: 'chat' },
  { path: '/fleet', title: 'Fleet', icon: 'fleet' },
  { path: '/work', title: 'Work', icon: 'work' },
  { path: '/runs', title: 'Runs', icon: 'runs' },
  { path: '/blackboard', title: 'Blackboard', icon: 'blackboard' },
  { path: '/approvals', title: 'Approvals', icon: 'approvals' },
  { path: '/costs', title: 'Costs', icon: 'costs' },
  { path: '/wallet', title: 'Wallet', icon: 'wallet' },
  { path: '/triggers', title: 'Triggers', icon: 'triggers' },
  { path: '/journal', title: 'Journal', icon: 'journal' },
  { path: '/settings', title: 'Settings', icon: 'settings' },
]

/** Returns the menu entry of a path; the pages of an agent belong to the fleet entry. */
export function entryOf(path: string): PageEntry | undefined {
  const within = path.startsWith('/agents/') ? '/fleet' : path
  return menu.find((page) => within.startsWith(page.path))
}
