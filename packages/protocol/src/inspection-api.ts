import * as z from 'zod/mini'
import type { Endpoint, EndpointSchemas } from './endpoint.ts'

/** The owner's API for hosts whose TLS the egress proxy ends. */
export const inspectionHumanEndpoints = {
  inspection: {
    method: 'GET',
    path: '/api/egress/inspection',
    summary: 'List the hosts that the egress proxy inspects, and clients that refused its certificate.',
  },
  inspectHost: {
    method: 'PUT',
    path: '/api/egress/inspection/{host}',
    summary: 'Terminate TLS for programs of agents at this host, so that each request is decided.',
  },
  releaseHost: {
    method: 'DELETE',
    path: '/api/egress/inspection/{host}',
    summary: 'Stop inspecting a host, so that its connections are tunnels again.',
  },
  tunnelHost: {
    method: 'PUT',
    path: '/api/egress/tunnels/{host}',
    summary: 'Add a host to those that stay tunnels, because its programs accept only its own certificate.',
  },
} as const satisfies Record<string, Endpoint>

export type InspectionHumanEndpointName = keyof typeof inspectionHumanEndpoints

/** Why a client did not complete TLS with the mesh. */
export const handshakeFailures = ['untrusted', 'closed', 'unused', 'wrong-name', 'no-tls'] as const
export type HandshakeFailure = (typeof handshakeFailures)[number]

/** A host whose programs seem to accept only the host's own certificate. */
export const pinnedHostSchema = z.strictObject({
  host: z.string(),
  agent_ids: z.array(z.string()),
  /** How many connections were closed because of the certificate since the mesh started. */
  count: z.number(),
})
export type PinnedHost = z.infer<typeof pinnedHostSchema>

export const inspectionViewSchema = z.strictObject({
  hosts: z.array(z.string()),
  /** Hosts that stay tunnels, also if an inspected `*.domain` contains them. */
  tunnels: z.array(z.string()),
  /** Inspected hosts whose programs seem to accept only the host's own certificate; they stay inspected. */
  pinned: z.array(pinnedHostSchema),
  /** SHA-256 fingerprint of the certificate authority that the containers of this fleet trust. */
  authority: z.string(),
  /** Clients that did not complete TLS since the mesh started, latest first. */
  failures: z.array(
    z.strictObject({
      agent_id: z.string(),
      host: z.string(),
      why: z.enum(handshakeFailures),
      count: z.number(),
      last_at: z.number(),
    }),
  ),
})
export type InspectionView = z.infer<typeof inspectionViewSchema>

export const inspectionHumanApi = {
  inspection: { response: inspectionViewSchema },
  inspectHost: { response: inspectionViewSchema },
  releaseHost: { response: inspectionViewSchema },
  tunnelHost: { response: inspectionViewSchema },
} as const satisfies Record<InspectionHumanEndpointName, EndpointSchemas>
