import type { Readable } from 'node:stream'
import type { JsonObject } from '@flotilla/protocol/json-value'
import { headers } from '@flotilla/protocol/headers'
import { Problem } from '@flotilla/protocol/problem'
import { addressInLine, quoted, wholeAddress } from '@flotilla/protocol/shown-text'
import type { HeldBytes, LoopShare } from '@flotilla/foundation/intake'
import type { Database } from '@flotilla/foundation/storage'
import type { ApprovalKind, ConfirmedLine, RequestedApproval } from '@flotilla/work/approvals'
import * as z from 'zod'
import { approvalRequired, approvedEffectArgs, textOf } from '../../egress/index.ts'
import type { ApprovedEffects } from '../../egress/index.ts'
import { inspectedEffect } from '../inspected-effect.ts'
import type { AskedRequest, AskPerson } from '../terminate/asked-request.ts'
import { describeBody } from './describe-body.ts'
import type { KeptBodyTable } from './kept-body-table.ts'
import type { OpenAnswers } from './open-answers.ts'
import { readKeptBody } from './read-kept-body.ts'
import type { WholeBody } from './read-kept-body.ts'
import type { SendKept } from './send-kept.ts'

/** The kind of approval of one request of a program to an inspected host. */
export const programRequestKind = 'program-request'
/** How much of the answer the agent is called again with, in characters. */
const answerMaxChars = 1500

const argsSchema = z.strictObject({
  ...approvedEffectArgs,
  host: z.string(),
  port: z.number(),
  method: z.string(),
  path: z.string(),
  headers: z.array(z.string()),
  body_sha256: z.string(),
  /** The body in sentences. */
  body: z.array(z.string()),
  credentials: z.array(z.string()),
})

export interface ProgramRequests {
  readonly kind: ApprovalKind
  readonly ask: AskPerson
}

export interface ProgramRequestsDeps {
  readonly approved: ApprovedEffects
  readonly database: Pick<Database, 'transaction' | 'afterCommit'>
  readonly bodies: KeptBodyTable
  readonly answers: OpenAnswers
  readonly send: SendKept
  readonly holdMs: () => number
  /** Counts the bytes of a body while it is read. */
  readonly held: HeldBytes
  readonly loop: Pick<LoopShare, 'spend'>
}

/**
 * Requests of ordinary programs to inspected hosts that a rule of the owner asks for. The approval binds method,
 * address, headers and the SHA-256 of the body; the mesh itself sends them once, and the program is not needed again.
 * Equal requests of one agent, also of several runs, join one approval: one request is sent, and each program that is
 * held open gets a copy of its answer, all but the first with the header that says so.
 */
export function createProgramRequests(deps: ProgramRequestsDeps): ProgramRequests {
  const { approved, bodies, answers } = deps

  async function carryOut(args: JsonObject, confirmed: ConfirmedLine | undefined) {
    const kept = argsSchema.parse(args)
    const { once, host, port, body_sha256: sha256 } = kept
    answers.sending(once)
    try {
      const reply = await approved.once(args, confirmed, async (caller, line) => {
        const body = bodies.read(once)
        if (body === null || (await wholeBody(deps, caller.agentId, body)).sha256 !== sha256) {
          throw new Problem('approval-changed', {
            detail: 'the kept body differs from the one that was approved, so nothing was sent',
          })
        }
        const { method, path, headers, credentials } = kept
        const destination = { host, port }
        const answer = await deps.send(
          caller,
          { destination, method, path, headers, credentials, body },
          line,
        )
        if (answer.isCut) answers.refuse(once, cutAnswer(answer.status))
        else answers.answer(once, answer)
        return { status: answer.status, text: shownText(answer.body) }
      })
      return `The request was sent once and answered with status ${reply.status}${reply.text === '' ? '.' : `: ${reply.text}`}`
    } catch (error) {
      answers.refuse(once, error)
      throw error
    }
  }

  /** Stores approval and body in one transaction; an equal request that waits already is joined. */
  function keep(asked: AskedRequest, body: WholeBody): RequestedApproval {
    const { caller, destination, method, path, headers: written, credentials, decision } = asked
    return deps.database.transaction(() => {
      const row = approved.ask(caller, programRequestKind, {
        decision,
        args: {
          ...destination,
          method,
          path,
          headers: [...written],
          body_sha256: body.sha256,
          body: [...describeBody(body.bytes, { path, headers: written, sha256: body.sha256 })],
          credentials: [...credentials],
        },
      })
      if (row.joined !== true)
        bodies.keep({ once: onceOf(row.args), agentId: caller.agentId, body: body.bytes })
      return row
    })
  }

  return {
    kind: {
      action: () => ({ do: 'call-api', api: 'http' }),
      describe: (args) => {
        const {
          agent_id: subject,
          host,
          port,
          method,
          path,
          headers: written,
          ...more
        } = argsSchema.parse(args)
        const address = `https://${textOf({ host, port })}${path}`
        return {
          subject,
          summary: `send ${method} ${addressInLine(address)} for a program`,
          consequences: [
            `The mesh sends ${method} ${wholeAddress(address)} for a program of ${subject}, once.`,
            ...headerWords(written),
            ...more.body,
            ...(more.credentials.length === 0
              ? []
              : [`The mesh fills in the credential ${more.credentials.join(', ')}.`]),
            `The rule ${more.rule} of config/policy.yaml asks: ${more.because}`,
          ],
          price: 'Sending the request calls no model and costs nothing.',
        }
      },
      carryOut: (_person, args, confirmed) => carryOut(args, confirmed),
      // The record of effects says whether the request has left; `carryOut` asks it.
      ifCutOff: 'again',
      wasDone: () => null,
      policyEffect: (args) => {
        const { rule, credentials, ...request } = argsSchema.parse(args)
        return { details: inspectedEffect(request, credentials), rule }
      },
      settled: (args, state) => {
        const once = onceOf(args)
        bodies.forget(once)
        deps.database.afterCommit(() =>
          answers.refuse(
            once,
            new Problem('policy-denied', {
              detail: `the request that waited for a person is ${state} and was not answered`,
            }),
          ),
        )
      },
    },
    ask: async (asked) => {
      const { agentId } = asked.caller
      const row = keep(asked, await wholeBody(deps, agentId, asked.body))
      const late = () => approvalRequired('request', row, asked.decision.reason)
      const ms = deps.holdMs()
      if (ms === 0) throw late()
      const release = asked.keepOpen()
      try {
        const answer = await answers.wait(onceOf(row.args), { ms, late, signal: asked.signal })
        if (row.joined !== true) return answer
        return { ...answer, headers: [...answer.headers, headers.joinedApproval, row.id] }
      } finally {
        release()
      }
    },
  }
}

function onceOf(args: { readonly [name: string]: unknown }): string {
  return z.string().parse(args['once'])
}

/** Reads a body and counts its bytes while they are in memory. */
async function wholeBody(
  { held, loop }: Pick<ProgramRequestsDeps, 'held' | 'loop'>,
  agentId: string,
  body: Readable | Buffer | null,
): Promise<WholeBody> {
  let taken = 0
  try {
    return await readKeptBody(body instanceof Buffer ? [body] : body, {
      take: (bytes) => {
        held.take(agentId, bytes)
        taken += bytes
      },
      spend: (work) => loop.spend(agentId, work),
    })
  } finally {
    held.giveBack(agentId, taken)
  }
}

function headerWords(headers: readonly string[]): readonly string[] {
  const words: string[] = []
  for (let at = 0; at + 1 < headers.length; at += 2)
    words.push(`Header ${headers[at]}: ${quoted(headers[at + 1] ?? '')}`)
  return words
}

/** The text of an answer for the agent, without bytes that are no text. */
function shownText(body: Buffer): string {
  const text = body.toString('utf8').replace(/[^\P{Cc}\n\t]|\uFFFD/gu, '')
  return text.length > answerMaxChars ? `${text.slice(0, answerMaxChars)} …` : text
}

function cutAnswer(status: number): Problem {
  return new Problem('upstream-failed', {
    detail: `the request was approved and sent once, and answered with status ${status}; the answer is larger than the mesh keeps`,
  })
}
