import type {
  BrowserAction,
  BrowserActionData,
  BrowserActionParams,
} from '@flotilla/protocol/browser-service-api'
import type { Clock } from '@flotilla/protocol/clock'
import type { ElementHandle, Page } from 'playwright-core'
import type { Live } from '../tabs/living-browser.ts'
import type { PageElement } from '../tabs/page-element.ts'

/** The context of an action. */
export interface ActionScene {
  readonly live: Live
  /** The tab in front when the action began. */
  readonly page: Page
  readonly clock: Clock
  /** Milliseconds until the caller no longer waits; at least 1. */
  readonly left: () => number
  /** Finds the element of a reference. Rejects with `stale-reference`. */
  readonly find: (ref: string) => Promise<ElementHandle<PageElement>>
}

/** Fields that `perform-action.ts` adds to every result. */
type OfEvery = 'page' | 'dialogs' | 'notices'

/** Carries out one action. Rejects with an `ActionProblem` or an error of Playwright; the caller translates both. */
export type Act<Name extends BrowserAction> = (
  scene: ActionScene,
  params: BrowserActionParams[Name],
) => Promise<Omit<BrowserActionData[Name], OfEvery>>

export type Acts<Names extends BrowserAction> = { readonly [Name in Names]: Act<Name> }
