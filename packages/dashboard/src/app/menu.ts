import type { IconName } from '../design/icons.tsx'

export interface PageEntry {
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** The key that opens the page after `g`. */
  readonly key: string
}

/** The pages that the menu and the palette list. */
export const menu: readonly PageEntry[] = [
  { path: '/chat', title: 'Chat', icon: 'chat', key: 'c' },
  { path: '/fleet', title: 'Fleet', icon: 'fleet', key: 'f' },
  { path: '/work', title: 'Work', icon: 'work', key: 'w' },
  { path: '/runs', title: 'Runs', icon: 'runs', key: 'r' },
  { path: '/blackboard', title: 'Blackboard', icon: 'blackboard', key: 'b' },
  { path: '/approvals', title: 'Approvals', icon: 'approvals', key: 'a' },
  { path: '/policy', title: 'Policy', icon: 'policy', key: 'p' },
  { path: '/costs', title: 'Costs', icon: 'costs', key: 'o' },
  { path: '/wallet', title: 'Wallet', icon: 'wallet', key: 'l' },
  { path: '/triggers', title: 'Triggers', icon: 'triggers', key: 't' },
  { path: '/journal', title: 'Journal', icon: 'journal', key: 'j' },
  { path: '/settings', title: 'Settings', icon: 'settings', key: 's' },
]

/** Returns the menu entry of a path; the pages of an agent belong to the fleet entry. */
export function entryOf(path: string): PageEntry | undefined {
  const within = path.startsWith('/agents/') ? '/fleet' : path
  return menu.find((page) => within.startsWith(page.path))
}
