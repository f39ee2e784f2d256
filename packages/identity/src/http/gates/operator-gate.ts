import { operatorAgentId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import type { Caller } from '../../access/index.ts'

/**
 * Admits the operator's own process by its agent token, and programs of this machine through the internal gate. Runs
 * before any lookup, so that a refusal reveals nothing. Problem `denied`.
 */
export function requireOperatorOrInternal(caller: Caller): Caller {
  const isOperator = caller.kind === 'agent' && caller.token === 'door' && caller.agentId === operatorAgentId
  if (isOperator || caller.kind === 'internal') return caller
  throw new Problem('denied', {
    detail: 'only the operator, and programs on the machine of the mesh, may call this API',
  })
}
