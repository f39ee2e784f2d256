import { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import type * as z from 'zod'
import { journalApi as api, journalEndpoints as endpoints } from '@flotilla/protocol/journal-api'
import type { Caller } from '../access/caller.ts'
import { alreadySent, createBinder } from '../http/bind-endpoint.ts'
import { clientGone } from '../http/client-gone.ts'
import type { HumanGate } from '../http/gates/people-gate.ts'

/** Use cases about the record of decisions and effects. */
export interface JournalUseCases {
  /** One JSON value per line, each with its line break. The guard speaks before the first. */
  exportLines(
    caller: Caller,
    query: z.output<(typeof api)['journalExport']['query']>,
    signal: AbortSignal,
  ): AsyncIterable<string>
  accept(caller: Caller): { accepted: string | null }
}

export function journalRoutes(
  scope: FastifyInstance,
  { gate, use }: { readonly gate: HumanGate; readonly use: JournalUseCases },
): void {
  const bind = createBinder(scope)
  // Before the body is read: a page of another origin is told nothing of what it should have sent.
  scope.addHook('onRequest', async (request) => {
    gate(request)
  })
  bind(endpoints.journalExport, api.journalExport, async ({ raw, query, reply }) => {
    const lines = use.exportLines(gate(raw), query, clientGone(reply))
    void reply.type('application/x-ndjson; charset=utf-8')
    await reply.send(Readable.from(lines))
    return alreadySent
  })
  bind(endpoints.journalAccept, api.journalAccept, async ({ raw }) => use.accept(gate(raw)))
}
