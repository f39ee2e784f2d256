import * as z from 'zod/mini'
import { channelStates } from './channels-api.ts'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'
import { pinnedHostSchema } from './inspection-api.ts'
import { rungViewSchema } from './isolation.ts'
import { journalReportSchema } from './journal-api.ts'
import { wallReportSchema } from './mesh-human-api.ts'
import { channelNames } from './people.ts'

/** The internal API: this machine's own programs, by loopback source and marker header. */
export const meshInternalEndpoints = {
  wallsVerify: { method: 'POST', path: '/internal/walls/verify', summary: 'Check the walls now.' },
  journalVerify: {
    method: 'GET',
    path: '/internal/journal/verify',
    summary: 'Verify the hash chain of the audit log.',
  },
  browsersFailed: {
    method: 'GET',
    path: '/internal/browsers/failed',
    summary: 'List browsers that failed to start or ended unexpectedly, with the reasons.',
  },
  channelsTroubled: {
    method: 'GET',
    path: '/internal/channels/troubled',
    summary: 'List enabled chat platforms that have a problem, with its repair.',
  },
  egressPinned: {
    method: 'GET',
    path: '/internal/egress/pinned',
    summary: 'List inspected hosts whose programs seem to accept only the host’s own certificate.',
  },
  agentData: {
    method: 'GET',
    path: '/internal/agents/{id}/data',
    summary: 'Return the data of an agent as one POSIX archive, or 204 if it has none.',
  },
} as const satisfies Record<string, Endpoint>

export type MeshInternalEndpointName = keyof typeof meshInternalEndpoints

const captchaSolverSchema = z.strictObject({
  host: z.string(),
  per_hour: z.int(),
  daily_usd: z.number(),
  /** The latest end of a cooldown after consecutive failures for one agent, milliseconds since 1970; null if none. */
  rests_until: z.nullable(z.number()),
})
export type CaptchaSolverView = z.infer<typeof captchaSolverSchema>

export const meshInternalApi = {
  wallsVerify: {
    response: z.strictObject({
      checked_at: z.nullable(z.number()),
      walls: z.array(wallReportSchema),
      /** The available isolation levels, weakest first. */
      rungs: z.array(rungViewSchema),
    }),
  },
  journalVerify: { response: journalReportSchema },
  browsersFailed: {
    response: z.strictObject({
      browsers: z.array(z.strictObject({ agent_id: z.string(), reason: z.string() })),
      /** Null if only people answer CAPTCHAs. */
      captcha_solver: z.nullable(captchaSolverSchema),
    }),
  },
  channelsTroubled: {
    response: z.strictObject({
      channels: z.array(
        z.strictObject({
          name: z.enum(channelNames),
          state: z.enum(channelStates),
          detail: z.string(),
          repair: z.string(),
        }),
      ),
    }),
  },
  egressPinned: {
    response: z.strictObject({
      inspected: z.int(),
      tunnels: z.array(z.string()),
      pinned: z.array(pinnedHostSchema),
    }),
  },
  agentData: {},
} as const satisfies Record<MeshInternalEndpointName, EndpointSchemas>
