import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/** The people's API: the audit log of decisions and effects. */
export const journalEndpoints = {
  journalExport: {
    method: 'GET',
    path: '/api/journal',
    summary: 'Return audit log rows as JSON lines, oldest first.',
  },
  journalVerify: {
    method: 'GET',
    path: '/api/journal/verify',
    summary: 'Verify the hash chain of the whole audit log.',
  },
  journalAccept: {
    method: 'POST',
    path: '/api/journal/accept',
    summary: 'Accept a broken audit log as it is, and continue it.',
  },
} as const satisfies Record<string, Endpoint>

export type JournalEndpointName = keyof typeof journalEndpoints

export const journalReportSchema = z.strictObject({
  ok: z.boolean(),
  rows: z.int(),
  /** Which row does not verify and why; absent if all do. */
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
      /** An actor such as `agent:scout`, `human:cli` or `system`. */
      actor: filter,
      /** An action such as `permission.denied`, or a prefix with a star such as `permission.*`. */
      action: filter,
      /** Rows with this agent as actor or subject. */
      agent: filter,
    }),
  },
  journalVerify: { response: journalReportSchema },
  /** The break that was accepted; null without one. */
  journalAccept: { response: z.strictObject({ accepted: z.nullable(z.string()) }) },
} as const satisfies Record<JournalEndpointName, EndpointSchemas>
