import type { Secret } from '@flotilla/egress/credentials'

/** The kinds of CAPTCHA that a token answers. */
export type SolvableKind = 'recaptcha' | 'hcaptcha' | 'turnstile'

export interface CaptchaTask {
  readonly kind: SolvableKind
  readonly siteKey: string
  /** The address of the page without query and fragment, which may contain private data. */
  readonly pageUrl: string
}

/** The proxy through which the solver visits the page. */
export interface SolverProxy {
  readonly type: 'http' | 'socks5'
  readonly address: string
  readonly port: number
  readonly login: Secret | null
  readonly password: Secret | null
}

export interface SolverCall {
  /** Base address of the solver. */
  readonly url: string
  readonly key: Secret
  readonly proxy: SolverProxy | null
  readonly signal: AbortSignal
}

/** `cost`: nano-dollars; null if it is unknown, and up to the whole reservation may be owed. */
export type SolverAnswer =
  | { readonly kind: 'solved'; readonly token: string; readonly costNano: number | null }
  /** The solver rejected the task or does not charge it. */
  | { readonly kind: 'refused'; readonly why: string }
  /** The solver accepted the task but sent no answer; it may charge the task. */
  | { readonly kind: 'lost'; readonly why: string }

/**
 * PORT: a paid CAPTCHA solver. Adapters pass `captcha-solver.conformance.ts`.
 *
 * Contract
 * - P1 It resolves within `solverLimits.answerWithinMs` and never rejects: an end by the signal is
 *   `lost` too.
 * - P2 A token has at most 8192 visible ASCII characters; `why` is one line of the mesh's text with at most
 *   a code of the solver, and contains no secret.
 * - P3 One call creates one task, never two.
 */
export type SolveCaptcha = (task: CaptchaTask, call: SolverCall) => Promise<SolverAnswer>
