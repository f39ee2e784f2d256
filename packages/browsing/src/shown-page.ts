import { oneLine } from '@flotilla/protocol/one-line'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'

/** A page as people, the audit log and waiting runs see it, outside of its agent's conversation. */
export interface ShownPage {
  /** The address without query and fragment, which may contain private data. */
  readonly url: string
  readonly title: string
  readonly host: string
  readonly tabs: number
}

/** How much of a page's address people see, in characters. */
const urlMaxChars = 300
/** How much of a page's title people see, in characters. */
const titleMaxChars = 120

export const noPage: ShownPage = { url: '', title: '', host: '', tabs: 0 }

/** Describes a page. Its text is untrusted, so it is sanitized, reduced to one line and shortened. Pure. */
export function shownPage(page: {
  readonly url?: string | undefined
  readonly title?: string | undefined
  readonly tabs: number
}): ShownPage {
  const url = URL.canParse(page.url ?? '') ? new URL(page.url ?? '') : null
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:'
  return {
    url: isWeb ? oneLine(sanitizeForPrompt(`${url.origin}${url.pathname}`), urlMaxChars) : '',
    title: oneLine(sanitizeForPrompt(page.title ?? ''), titleMaxChars),
    host: isWeb ? url.host : '',
    tabs: page.tabs,
  }
}
