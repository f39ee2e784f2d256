import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/** The people's API: the audit log of decisions and effects. */
export const journalEndpoints = {
  journalExport: {
    method: 'GET',
    path: '/api/journal',
    summary: 'Rows of the journal as JSON lines, oldest first',
  },
  journalVerify: {
    method: 'GET',
    path: '/api/journal/verify',
    summary: 'Checks the hash chain of the whole journal, now',
  },
  journalAccept: {
    method: 'POST',
    path: '/api/journal/accept',
    summary: 'Goes on with a broken journal as it stands',
  },
} as const satisfies Record<string, Endpoint>

export type JournalEndpointName = keyof typeof journalEndpoints

export const journalReportSchema = z.strictObject({
  ok: z.boolean(),
  rows: z.int(),
  /** What does not fit and where, when something does not. */
  detail: z.optional(z.string()),
})

export const journalFormats = ['cloudevents', 'rows'] as const
export type JournalFormat = (typeof journalFormats)[number]

const filter = z.optional(z.string().check(z.minLength(1), z.maxLength(200)))

export const journalApi = {
  journalExport: {
    query: z.strictObject({
      format: z._default(z.enum(journalFormats), 'cloudevents'),
      /** Milliseconds since 1970. */
      since: z.optional(z.coerce.number()),
      until: z.optional(z.coerce.number()),
      /** `agent:scout`, `human:cli`, `system`. */
      actor: filter,
      /** `permission.denied`, or with a star at the end `permission.*`. */
      action: filter,
      /** What an agent did, and what was done to it. */
      agent: filter,
    }),
  },
  journalVerify: { response: journalReportSchema },
  /** What was broken; null when nothing was. */
  journalAccept: { response: z.strictObject({ accepted: z.nullable(z.string()) }) },
} as const satisfies Record<JournalEndpointName, EndpointSchemas>
