import type { Socket } from 'node:net'
import type {
  BrowserAction,
  BrowserActionReply,
  BrowserStatus,
  CaptchaAnswer,
  WatchMode,
} from '@flotilla/protocol/browser-service-api'

/**
 * PORT: the browser of one agent, as the mesh uses it. Adapters pass `browser-service.conformance.ts`.
 *
 * Contract
 * - P1 What comes back is bounded in bytes and time before it is parsed, and of the protocol's form or a rejection: a page
 *   may have taken the far end over.
 * - P2 `act` resolves to a refusal of the browser's as a value; it rejects with the Problem `upstream-failed` or
 *   `upstream-timeout` where no answer came, or with the signal's reason. It is sent once.
 * - P3 `screen` resolves to a line on which the far end has agreed to WebSocket frames of the sub-protocol `binary`,
 *   without extensions, and to the value by which it proved so.
 * - P4 `picture` changes nothing: it begins no browser, takes the place of no action, and is none by which one counts as used.
 */
export interface BrowserService {
  status(signal: AbortSignal): Promise<BrowserStatus>
  act(
    action: BrowserAction,
    call: {
      readonly params: Readonly<Record<string, unknown>>
      readonly deadlineMs: number
      readonly signal: AbortSignal
    },
  ): Promise<BrowserActionReply>
  /** Puts an answer into the page in front; false where that asks it no more, or a person has it. */
  answerCaptcha(answer: CaptchaAnswer, signal: AbortSignal): Promise<boolean>
  /** The bytes of a picture of what is in front; null where there is none to be had. */
  picture(signal: AbortSignal): Promise<Uint8Array | null>
  setWatchMode(mode: WatchMode, signal: AbortSignal): Promise<void>
  /** Lets Chromium write its tabs down and end. */
  close(signal: AbortSignal): Promise<void>
  screen(
    watcher: WatchMode,
    ask: { readonly key: string; readonly signal: AbortSignal },
  ): Promise<{ readonly line: Socket; readonly head: Buffer; readonly accept: string }>
}

export type OpenBrowserService = (
  agentId: string,
  address: { readonly host: string; readonly port: number },
) => BrowserService
