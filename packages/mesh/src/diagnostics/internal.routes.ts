import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import {
  meshInternalApi as api,
  meshInternalEndpoints as endpoints,
} from '@flotilla/protocol/mesh-internal-api'
import type { Caller } from '../access/caller.ts'
import { createBinder } from '../http/bind-endpoint.ts'
import type { InternalGate } from '../http/gates/internal-gate.ts'

type Answer<Name extends keyof typeof api> = (typeof api)[Name] extends {
  response: infer S extends z.core.$ZodType
}
  ? z.input<S> | Promise<z.input<S>>
  : never

export interface InternalUseCases {
  verifyWalls(caller: Caller): Answer<'wallsVerify'>
  verifyJournal(caller: Caller): Answer<'journalVerify'>
}

/** For programs of this machine: loopback and the marker header, both. */
export function internalRoutes(
  scope: FastifyInstance,
  { gate, use }: { readonly gate: InternalGate; readonly use: InternalUseCases },
): void {
  const bind = createBinder(scope)
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  bind(endpoints.wallsVerify, api.wallsVerify, async ({ raw }) => use.verifyWalls(gate(raw)))
  bind(endpoints.journalVerify, api.journalVerify, async ({ raw }) => use.verifyJournal(gate(raw)))
}
