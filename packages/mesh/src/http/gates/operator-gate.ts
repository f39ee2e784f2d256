import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { operatorAgentId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '../../access/index.ts'

/**
 * Zone 2.5: the operator's own process by its door token, or a program of this machine through the internal gate.
 * Comes before anything is looked up, so that a refusal says nothing about what there is. Problem `denied`.
 */
export function requireOperatorOrInternal(caller: Caller): Caller {
  const isOperator = caller.kind === 'agent' && caller.token === 'door' && caller.agentId === operatorAgentId
  if (isOperator || caller.kind === 'internal') return caller
  throw new Problem('denied', { detail: 'this is for the operator and for programs of this machine' })
}

/** The gate of the door on which routes of zone 2.5 stand. */
export interface OperatorGate {
  readonly identify: (request: FastifyRequest) => Caller
  /** Goes before the body is read. */
  readonly admit: (request: FastifyRequest, reply: FastifyReply) => Promise<void>
}

/** Puts the gate before every route of the scope, and gives what says who calls one: nobody but those above. */
export function guardOperatorScope(
  scope: FastifyInstance,
  { identify, admit }: OperatorGate,
): (request: FastifyRequest) => Caller {
  scope.addHook('onRequest', async (request, reply) => admit(request, reply))
  return (request) => requireOperatorOrInternal(identify(request))
}
