import * as z from 'zod/mini'
import type { browserAgentEndpoints, browserHumanEndpoints } from './browser-endpoints.ts'
import { browserActionParams, browserLimits, browserProblemCodes } from './browser-service-api.ts'
import type { BrowserAction } from './browser-service-api.ts'
import type { EndpointSchemas } from './endpoint.ts'
import { agentIdSchema } from './ids.ts'
import { jsonObjectSchema } from './json-value.ts'

const someText = (maxChars: number) => z.string().check(z.minLength(1), z.maxLength(maxChars))

/** The parameters that agents send; the mesh adds or replaces others before it calls the browser service. */
export const agentBrowserParams = {
  ...browserActionParams,
  /** Agents cannot set secrets; the mesh fills them in. */
  type: z.omit(browserActionParams.type, { secret: true }),
  fill_form: z.strictObject({
    fields: z.record(z.string(), z.string().check(z.maxLength(browserLimits.textMaxChars))),
  }),
  wait_for: z.extend(browserActionParams.wait_for, {
    timeout_ms: z._default(z.int().check(z.minimum(1), z.maximum(50_000)), 10_000),
  }),
  upload_file: z.strictObject({
    ref: browserActionParams.upload_file.shape.ref,
    /** Paths of the agent's own files. */
    paths: z.array(someText(1000)).check(z.minLength(1), z.maxLength(browserLimits.uploadFilesMax)),
  }),
  inspect_requests: z.strictObject({
    limit: z._default(z.int().check(z.minimum(1), z.maximum(browserLimits.requestsMax)), 20),
  }),
} as const satisfies Record<BrowserAction, z.ZodMiniType>

/** An error code of the mesh itself, in addition to those of the browser service. */
export const handOverCode = 'waits-for-person'

export const browserAgentApi = {
  browserAct: {
    request: jsonObjectSchema,
    response: z.discriminatedUnion('ok', [
      z.strictObject({
        ok: z.literal(true),
        /** Content of the page: untrusted text. */
        data: jsonObjectSchema,
        /** Notes of the mesh. */
        notes: z.array(z.string()),
        picture: z.optional(z.strictObject({ media_type: z.string(), base64: z.string() })),
      }),
      z.strictObject({
        ok: z.literal(false),
        code: z.enum([...browserProblemCodes, handOverCode]),
        message: z.string(),
        retry_after_ms: z.optional(z.int()),
      }),
    ]),
  },
} as const satisfies Record<keyof typeof browserAgentEndpoints, EndpointSchemas>
export type BrowserActReply = z.infer<typeof browserAgentApi.browserAct.response>

export const browserSessionStates = ['closed', 'opening', 'live', 'closing', 'failed'] as const

/** The browser of one agent as the API shows it. Times are milliseconds since 1970. */
export const browserViewSchema = z.strictObject({
  agent_id: agentIdSchema,
  state: z.enum(browserSessionStates),
  since: z.number(),
  /** The reason of a failure; null if the browser did not fail. */
  reason: z.nullable(z.string()),
  /** The page that the browser showed last; its texts are the page's own words. */
  page: z.nullable(z.strictObject({ url: z.string(), title: z.string(), host: z.string(), tabs: z.int() })),
  acting: z.boolean(),
  watchers: z.int(),
  /** Who controls the browser, or why it waits for a person; null if its agent controls it. */
  hand_over: z.nullable(
    z.strictObject({ kind: z.enum(['person', 'captcha']), by: z.nullable(z.string()), since: z.number() }),
  ),
  /** The path of the dashboard page on which people see the browser's screen. */
  screen: z.string(),
})
export type BrowserView = z.infer<typeof browserViewSchema>

export const closedBrowserSchema = z.strictObject({
  ...browserViewSchema.shape,
  /** Whether a browser was open. */
  was_open: z.boolean(),
})
export type ClosedBrowser = z.infer<typeof closedBrowserSchema>

export const browserHumanApi = {
  browsers: {
    response: z.strictObject({
      /** Why this machine cannot run browsers; null if it can. */
      unavailable: z.nullable(z.string()),
      max_live: z.int(),
      browsers: z.array(browserViewSchema),
    }),
  },
  browserPicture: {},
  browserClose: { response: closedBrowserSchema },
  browserTakeOver: { response: browserViewSchema },
  browserGiveBack: { response: browserViewSchema },
} as const satisfies Record<keyof typeof browserHumanEndpoints, EndpointSchemas>
