import type { FastifyReply, FastifyRequest } from 'fastify'
import { headers } from '@flotilla/protocol/headers'
import type { AgentCaller, ModelSurface } from '@flotilla/identity/http'
import type { NamedByPath } from '../formats/api-format.ts'
import type { CallPurpose } from '../llm-provider.ts'
import type { CompletionInput } from './complete.ts'

/** A call that the gate has let in. */
export interface AdmittedCall {
  readonly caller: AgentCaller
  readonly raw: FastifyRequest
  readonly reply: FastifyReply
  gone(): AbortSignal
}

/** Returns what a call asks for: its body, and what its headers and its path say. */
export function callOf(
  gate: ModelSurface['gate'],
  { raw, gone }: AdmittedCall,
  named: NamedByPath | undefined,
): CompletionInput {
  return {
    ...(named === undefined ? {} : { named }),
    body: Buffer.isBuffer(raw.body) ? raw.body : Buffer.alloc(0),
    signal: gone(),
    betas: namesIn(raw.headers['anthropic-beta']),
    asksAgain: raw.headers[headers.asksAgain] === '1',
    purpose: statedPurpose(raw.headers[headers.callPurpose]),
    hold: (bytes) => gate.hold(raw, bytes),
    keep: () => gate.keep(raw),
  }
}

function statedPurpose(header: string | string[] | undefined): CallPurpose {
  return header === 'subagent' || header === 'aside' ? header : 'loop'
}

function namesIn(header: string | string[] | undefined): readonly string[] {
  if (header === undefined) return []
  const text = Array.isArray(header) ? header.join(',') : header
  return text.split(',').map((name) => name.trim())
}
