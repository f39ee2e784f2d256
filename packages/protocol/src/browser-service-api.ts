import * as z from 'zod/mini'
import { oneKeySchema } from './browser-keys.ts'
import type { Endpoint } from './endpoint.ts'

/**
 * What the container of an agent's browser serves on port 8500, to the mesh alone: every call and the WebSocket bear
 * `Authorization: Bearer PROOF`, the mesh's proof for `browserProofSubject(agentId)`, checked as agents check theirs.
 * A page may have taken the container over, so the mesh reads every answer as hostile.
 */
export const browserServiceEndpoints = {
  status: { method: 'GET', path: '/status', summary: 'Return whether the browser runs and what it shows.' },
  act: { method: 'POST', path: '/actions/{action}', summary: 'Carry out one action in the browser.' },
  /** Not an action for agents: the mesh inserts the CAPTCHA solver's answer into the page that asked. */
  answerCaptcha: {
    method: 'POST',
    path: '/captcha-answer',
    summary: 'Enter the solution of the CAPTCHA on the current page.',
  },
  picture: { method: 'GET', path: '/picture', summary: 'Return a screenshot of the current tab.' },
  watchMode: { method: 'POST', path: '/watch-mode', summary: 'Set whether a person has control.' },
  close: {
    method: 'POST',
    path: '/close',
    summary: 'Close the browser. Its next start opens the same tabs again.',
  },
  vnc: { method: 'GET', path: '/vnc', summary: 'Open a WebSocket to the screen (`binary`).' },
} as const satisfies Record<string, Endpoint>

export const browserServicePort = 8500

/** The subject of the mesh's proof for a browser. Agent ids have no colon, so an agent's proof is not valid here. */
export function browserProofSubject(agentId: string): string {
  return `browser:${agentId}`
}

/** Variables of the container. None is a secret. */
export const browserServiceVariables = {
  agentId: 'FLOTILLA_AGENT_ID',
  meshPublicKey: 'FLOTILLA_MESH_PUBLIC_KEY',
  /** IPv4 address and port of the mesh's browser proxy, the only allowed destination. */
  gateway: 'FLOTILLA_BROWSER_GATEWAY',
  proxyPort: 'FLOTILLA_BROWSER_PROXY_PORT',
} as const

/**
 * Contains the password of the user `browser` at the mesh's proxy, in a folder that is mounted read-only at
 * /briefing. The mesh deletes the file once `/status` has answered; before that no Chromium is launched.
 */
export const browserTokenFile = 'proxy-token'
export const browserProxyUser = 'browser'

/**
 * The exit code of the container if its egress filter could not be installed; the last line of stderr is the reason.
 */
export const browserFilterExitCode = 78

export const browserLimits = {
  bodyMaxBytes: 8 * 1024 * 1024,
  /** The maximum number of actions that wait while the browser carries out another one. */
  queuedActionsMax: 8,
  tabsMax: 8,
  deadlineMaxMs: 120_000,
  urlMaxChars: 4096,
  textMaxChars: 20_000,
  formFieldsMax: 50,
  selectedMax: 50,
  /** The maximum number of elements with a reference in one snapshot of a page. */
  snapshotElementsMax: 200,
  snapshotDepthMax: 12,
  snapshotMaxChars: 30_000,
  matchesMax: 20,
  matchMaxChars: 300,
  screenshotMaxBytes: 2 * 1024 * 1024,
  /** The maximum size of a picture of the browser for people who watch it, in bytes. */
  pictureMaxBytes: 256 * 1024,
  uploadFilesMax: 5,
  /** The maximum size of all files of one upload before base64, in bytes, so that they fit into a request. */
  uploadMaxBytes: 5 * 1024 * 1024,
  downloadMaxBytes: 5 * 1024 * 1024,
  /** The maximum number of network requests of a page that one action returns. */
  requestsMax: 50,
  dialogsMax: 10,
  noticesMax: 10,
} as const

const text = (max: number) => z.string().check(z.maxLength(max))
const someText = (max: number) => z.string().check(z.minLength(1), z.maxLength(max))
const count = z.int().check(z.nonnegative())
const url = someText(browserLimits.urlMaxChars)
const ref = z.string().check(z.regex(/^e[1-9]\d{0,5}$/, 'a reference is e1, e2 ... of the last snapshot'))
const coordinate = z.number().check(z.minimum(0), z.maximum(10_000))
const base64 = (maxBytes: number) => z.base64().check(z.maxLength(Math.ceil(maxBytes / 3) * 4))
/** A value that is typed and never returned, with the exact origins where it may be typed: `https://shop.example`. */
const secretSchema = z.strictObject({
  value: someText(4096),
  origins: z.array(someText(300)).check(z.minLength(1), z.maxLength(50)),
})

const upload = z.strictObject({
  name: someText(200),
  content_base64: base64(browserLimits.uploadMaxBytes),
})

/** Parameters of each action, by its name. */
export const browserActionParams = {
  navigate: z.strictObject({
    url,
    wait_until: z.optional(z.enum(['load', 'domcontentloaded', 'networkidle', 'commit'])),
  }),
  /** `frame`: a reference of an iframe in the last snapshot; the snapshot then contains only that iframe. */
  snapshot: z.strictObject({ frame: z.optional(ref) }),
  click: z.strictObject({
    ref,
    button: z.optional(z.enum(['left', 'right', 'middle'])),
    double: z.optional(z.boolean()),
  }),
  click_xy: z.strictObject({ x: coordinate, y: coordinate }),
  /** With `secret`, `text` is empty: the browser types the secret's value. */
  type: z.strictObject({
    ref,
    text: text(browserLimits.textMaxChars),
    clear: z.optional(z.boolean()),
    secret: z.optional(secretSchema),
  }),
  press_key: z.strictObject({ key: oneKeySchema }),
  hover: z.strictObject({ ref }),
  scroll: z.strictObject({
    direction: z.enum(['up', 'down', 'left', 'right']),
    /** The distance in pixels; most of a screen if omitted. */
    amount: z.optional(z.int().check(z.minimum(1), z.maximum(100_000))),
    ref: z.optional(ref),
  }),
  fill_form: z.strictObject({
    fields: z
      .array(
        z.strictObject({
          ref,
          value: text(browserLimits.textMaxChars),
          /** The secret that is filled in in place of `value`, which is then empty. */
          secret: z.optional(secretSchema),
        }),
      )
      .check(z.minLength(1), z.maxLength(browserLimits.formFieldsMax)),
  }),
  select: z.strictObject({
    ref,
    values: z.array(text(1000)).check(z.minLength(1), z.maxLength(browserLimits.selectedMax)),
  }),
  /** Exactly one of the first three fields is required. */
  wait_for: z.strictObject({
    text: z.optional(someText(1000)),
    ref: z.optional(ref),
    state: z.optional(z.enum(['load', 'domcontentloaded', 'networkidle'])),
    timeout_ms: z.int().check(z.minimum(1), z.maximum(browserLimits.deadlineMaxMs)),
  }),
  find_text: z.strictObject({ query: someText(1000) }),
  go_back: z.strictObject({}),
  go_forward: z.strictObject({}),
  open_tab: z.strictObject({ url: z.optional(url) }),
  /** Tabs are counted from 0. */
  switch_tab: z.strictObject({ index: count }),
  close_tab: z.strictObject({ index: z.optional(count) }),
  screenshot: z.strictObject({ full_page: z.optional(z.boolean()) }),
  upload_file: z.strictObject({
    ref,
    files: z.array(upload).check(z.minLength(1), z.maxLength(browserLimits.uploadFilesMax)),
  }),
  download: z.strictObject({ ref }),
  inspect_requests: z.strictObject({
    limit: z.int().check(z.minimum(1), z.maximum(browserLimits.requestsMax)),
  }),
  /** Starts a new browser with an empty profile, which is logged out everywhere. */
  reset: z.strictObject({}),
} as const satisfies Record<string, z.ZodMiniType>

export type BrowserAction = keyof typeof browserActionParams
export const browserActions = Object.keys(browserActionParams) as readonly BrowserAction[]
export type BrowserActionParams = {
  readonly [Name in BrowserAction]: z.infer<(typeof browserActionParams)[Name]>
}

export const browserActionRequestSchema = z.strictObject({
  params: z.record(z.string(), z.unknown()),
  /** How long the caller waits, in milliseconds; the service then aborts the action. */
  deadline_ms: z.int().check(z.minimum(1), z.maximum(browserLimits.deadlineMaxMs)),
})
export type BrowserActionRequest = z.infer<typeof browserActionRequestSchema>

const pageSchema = z.strictObject({
  url: text(browserLimits.urlMaxChars),
  title: text(300),
  /** Empty if the page has no host, such as `about:blank`. */
  host: text(255),
  tab_index: count,
  tabs: count,
})
export type BrowserPage = z.infer<typeof pageSchema>

/** The forms in which CAPTCHA providers write keys and tokens; they are untrusted text whatever their source. */
export const captchaSiteKey = /^[\w-]{10,100}$/
export const captchaToken = /^[\x21-\x7e]{1,8192}$/
export const captchaKinds = ['recaptcha', 'hcaptcha', 'turnstile', 'generic'] as const
export const captchaSchema = z.nullable(
  z.strictObject({
    kind: z.enum(captchaKinds),
    host: text(255),
    /** The provider's key for the site; null if the page shows none, or does not itself ask for the CAPTCHA. */
    site_key: z.nullable(z.string().check(z.regex(captchaSiteKey))),
  }),
)
export type Captcha = z.infer<typeof captchaSchema>

/** The answer that is inserted into the page, only if the page still asks for exactly this CAPTCHA. */
export const captchaAnswerSchema = z.strictObject({
  kind: z.enum(captchaKinds),
  host: text(255),
  site_key: z.string().check(z.regex(captchaSiteKey)),
  token: z.string().check(z.regex(captchaToken)),
})
export type CaptchaAnswer = z.infer<typeof captchaAnswerSchema>

/** False if the page no longer asks for the CAPTCHA, or if a person controls the browser. */
export const captchaAnsweredSchema = z.strictObject({ answered: z.boolean() })

/** The fields in the result of every successful action. */
const ofEvery = {
  page: pageSchema,
  /** Dialogs since the last result. The service dismissed each; a page with a `beforeunload` dialog was left. */
  dialogs: z
    .array(
      z.strictObject({ kind: z.enum(['alert', 'confirm', 'prompt', 'beforeunload']), message: text(500) }),
    )
    .check(z.maxLength(browserLimits.dialogsMax)),
  /** Other events since the last result, worded by the service: a pop-up that became a tab, or a closed tab. */
  notices: z.array(text(500)).check(z.maxLength(browserLimits.noticesMax)),
}
const plain = z.strictObject(ofEvery)

/** The `data` that each action returns. */
export const browserActionData = {
  /** `http_status` is null if the page did not come from a server's response. */
  navigate: z.strictObject({ ...ofEvery, http_status: z.nullable(z.int()), captcha: captchaSchema }),
  snapshot: z.strictObject({
    ...ofEvery,
    captcha: captchaSchema,
    text: text(browserLimits.snapshotMaxChars),
    /** References that `text` gives out. */
    elements: count,
    /** What `text` omits, worded by the service; empty if it is complete. */
    left_out: text(500),
  }),
  click: z.strictObject({ ...ofEvery, captcha: captchaSchema }),
  click_xy: plain,
  type: plain,
  press_key: plain,
  hover: plain,
  scroll: plain,
  fill_form: plain,
  select: z.strictObject({
    ...ofEvery,
    selected: z.array(text(1000)).check(z.maxLength(browserLimits.selectedMax)),
  }),
  /** False if the time ran out. */
  wait_for: z.strictObject({ ...ofEvery, found: z.boolean() }),
  find_text: z.strictObject({
    ...ofEvery,
    /** Each match with the surrounding words. */
    matches: z.array(text(browserLimits.matchMaxChars)).check(z.maxLength(browserLimits.matchesMax)),
    total: count,
  }),
  go_back: plain,
  go_forward: plain,
  open_tab: plain,
  switch_tab: plain,
  close_tab: plain,
  screenshot: z.strictObject({
    ...ofEvery,
    image_base64: base64(browserLimits.screenshotMaxBytes),
    mime_type: z.enum(['image/jpeg', 'image/png']),
    width: count,
    height: count,
  }),
  upload_file: plain,
  download: z.strictObject({
    ...ofEvery,
    /** The file name that the page gives; not a path. */
    name: text(200),
    /** Detected from the first bytes of the content, whatever the page says. */
    mime_type: text(100),
    size_bytes: count,
    content_base64: base64(browserLimits.downloadMaxBytes),
  }),
  inspect_requests: z.strictObject({
    ...ofEvery,
    /** Newest last. */
    requests: z
      .array(
        z.strictObject({
          method: text(20),
          /** Contains the names of query parameters without their values. */
          url: text(1000),
          /** Null if there was no response. */
          status: z.nullable(z.int()),
          type: text(30),
          bytes: z.nullable(count),
        }),
      )
      .check(z.maxLength(browserLimits.requestsMax)),
  }),
  reset: plain,
} as const satisfies Record<BrowserAction, z.ZodMiniType>
export type BrowserActionData = {
  readonly [Name in BrowserAction]: z.infer<(typeof browserActionData)[Name]>
}

export const browserProblemCodes = [
  /** Invalid parameters, or an unknown action. */
  'bad-params',
  /** The reference is not in the last snapshot, or its element is gone. Repair: take a snapshot. */
  'stale-reference',
  'no-such-tab',
  /** The element exists and does not support the action, or the page prevents it. */
  'not-possible',
  /** Neither `http:`, `https:` nor `about:blank`. */
  'url-refused',
  /** The page did not load: the mesh's filter refused it, the name does not exist, or loading was aborted. */
  'page-failed',
  'deadline-passed',
  /** The secret is not bound to the origin of the field, or the page changed its origin during the action. */
  'secret-refused',
  'too-large',
  'no-download',
  /** Eight actions are waiting already. */
  'browser-busy',
  'person-in-control',
  /** Chromium or its screen did not start; the next action tries again. */
  'launch-failed',
  /** Chromium or its screen ended during the action; the next action restarts it with the same tabs. */
  'browser-crashed',
  /** An error of the service itself. */
  'internal',
] as const
export type BrowserProblemCode = (typeof browserProblemCodes)[number]

export const browserProblemSchema = z.strictObject({
  code: z.enum(browserProblemCodes),
  /** The error and its repair, for the model. It may contain words of the page. */
  message: text(1000),
  retry_after_ms: z.optional(count),
})
export type BrowserProblem = z.infer<typeof browserProblemSchema>

/** The answer to an action, with status 200 in both cases. `data` is of `browserActionData[action]`. */
export const browserActionReplySchema = z.discriminatedUnion('ok', [
  z.strictObject({ ok: z.literal(true), data: z.record(z.string(), z.unknown()) }),
  z.strictObject({ ok: z.literal(false), problem: browserProblemSchema }),
])
export type BrowserActionReply = z.infer<typeof browserActionReplySchema>

export const watchModeSchema = z.strictObject({ mode: z.enum(['view', 'control']) })
export type WatchMode = z.infer<typeof watchModeSchema>['mode']

/**
 * `GET /vnc?watcher=control`. Keys and clicks of a watcher with `view` never reach the browser, whatever its mode is;
 * those of a watcher with `control` do while the mode is `control`. The default is `view`.
 */
export const vncQuerySchema = z.strictObject({ watcher: z._default(z.enum(['view', 'control']), 'view') })

export const browserStatusSchema = z.strictObject({
  /** The egress filter is installed and the token was read. */
  ready: z.boolean(),
  /** A new id for each start of the container. */
  boot_id: someText(64),
  /** Whether Chromium runs. */
  live: z.boolean(),
  /** The tab in front, while Chromium runs. */
  url: z.optional(text(browserLimits.urlMaxChars)),
  title: z.optional(text(300)),
  tabs: count,
  watchers: count,
  mode: z.enum(['view', 'control']),
  /** Whether an action is running or waiting. */
  busy: z.boolean(),
  /** Seconds since the last action or the last control by a person ended; 0 during an action or such control. */
  idle_seconds: count,
  /** Whether a page of the running Chromium was found inside its sandbox; false if Chromium does not run. */
  sandboxed: z.boolean(),
  /** Memory of the whole container; 0 if the kernel does not report it. */
  memory_bytes: count,
})
export type BrowserStatus = z.infer<typeof browserStatusSchema>

/** Null if no browser runs, or if the page gave no picture in time. */
export const browserPictureSchema = z.strictObject({
  image_base64: z.nullable(base64(browserLimits.pictureMaxBytes)),
})
export type BrowserPicture = z.infer<typeof browserPictureSchema>

export const browserClosedSchema = z.strictObject({ closed: z.boolean() })
