import type { BrowserView, ClosedBrowser } from '@flotilla/protocol/browser-api'
import type { Tone } from '../../live/state-tone.ts'
import { formatActor } from '@flotilla/protocol/format-actor'

/** Describes the state of a browser; who controls it comes before what it does. Pure. */
export function formatBrowser(browser: Pick<BrowserView, 'state' | 'hand_over' | 'acting'> | undefined): {
  readonly tone: Tone
  readonly words: string
} {
  if (browser?.hand_over) {
    const { by } = browser.hand_over
    return {
      tone: 'warn',
      words: by === null ? 'asks for a person' : `${formatActor(by)} controls the browser`,
    }
  }
  switch (browser?.state) {
    case undefined:
    case 'closed':
      return { tone: 'neutral', words: 'closed' }
    case 'opening':
    case 'closing':
      return { tone: 'busy', words: browser.state }
    case 'live':
      return browser.acting ? { tone: 'busy', words: 'at work' } : { tone: 'ok', words: 'live' }
    case 'failed':
      return { tone: 'bad', words: 'failed' }
  }
}

/** Describes the result of closing a browser. Pure. */
export function formatClosed({ agent_id: id, was_open: wasOpen }: ClosedBrowser): string {
  return wasOpen ? 'The browser is closed; its next use restores the tabs.' : `No browser of ${id} was open.`
}

/** The requests for a person that no person has accepted yet. Pure. */
export function askingForPerson<One extends Pick<BrowserView, 'hand_over'>>(
  browsers: readonly One[] | undefined,
): readonly One[] {
  return (browsers ?? []).filter((one) => one.hand_over?.by === null)
}
