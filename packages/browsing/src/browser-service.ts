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
 * - P1 Replies are bounded in bytes and time before they are parsed, and rejected if their form is invalid:
 *   a malicious page may control the browser.
 * - P2 `act` resolves to a refusal of the browser as a value. It rejects with the Problem `upstream-failed`
 *   or `upstream-timeout` if no answer came, or with the signal's reason. It is sent once.
 * - P3 `screen` resolves to a connection on which the browser has agreed to WebSocket frames of the
 *   sub-protocol `binary`, without extensions, and to the value with which it proved that.
 * - P4 `picture` changes nothing: it does not start a browser, block an action or count as use.
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
  /** Inserts an answer into the page. False if the page no longer asks for an answer, or a person has taken over. */
  answerCaptcha(answer: CaptchaAnswer, signal: AbortSignal): Promise<boolean>
  /** Returns the bytes of a picture of the current page; null if no picture is available. */
  picture(signal: AbortSignal): Promise<Uint8Array | null>
  setWatchMode(mode: WatchMode, signal: AbortSignal): Promise<void>
  /** Makes Chromium save its tabs and exit. */
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
