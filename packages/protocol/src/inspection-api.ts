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
} as const satisfies Record<string, Endpoint>

export type InspectionHumanEndpointName = keyof typeof inspectionHumanEndpoints

/** Why a client did not complete TLS with the mesh. */
export const handshakeFailures = ['untrusted', 'closed', 'wrong-name', 'no-tls'] as const
export type HandshakeFailure = (typeof handshakeFailures)[number]

export const inspectionViewSchema = z.strictObject({
  hosts: z.array(z.string()),
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
} as const satisfies Record<InspectionHumanEndpointName, EndpointSchemas>
