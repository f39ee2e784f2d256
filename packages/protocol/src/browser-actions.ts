import type { BrowserAction } from './browser-service-api.ts'

/**
 * The actions of an agent in its browser, in the order of the permission record. Their descriptions are a file of their
 * own, which pages and commands do not load.
 */
const actions: Readonly<Record<BrowserAction, true>> = {
  navigate: true,
  snapshot: true,
  click: true,
  click_xy: true,
  type: true,
  press_key: true,
  hover: true,
  scroll: true,
  fill_form: true,
  select: true,
  wait_for: true,
  find_text: true,
  go_back: true,
  go_forward: true,
  open_tab: true,
  switch_tab: true,
  close_tab: true,
  screenshot: true,
  upload_file: true,
  download: true,
  inspect_requests: true,
  reset: true,
}

export const browserActionNames = Object.keys(actions) as readonly BrowserAction[]

export function isBrowserAction(name: string): name is BrowserAction {
  return Object.hasOwn(actions, name)
}

/** The name by which a model calls the tool of an action. */
export function browserToolName(action: BrowserAction): `browser_${BrowserAction}` {
  return `browser_${action}`
}
