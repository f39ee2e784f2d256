import { createHmac } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { headers as headerNames } from '@flotilla/protocol/headers'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { meshCalls } from '../support/mesh-calls.ts'
import type { Reply } from '../support/http-call.ts'
import type { AskedFact, CallFact } from './facts.ts'
import type { Supervisor } from './supervise-mesh.ts'
import { callFor, callId, sayPlan } from './steps.ts'
import { outcomeOf } from './read-conversation.ts'
import type { Work } from './work-plan.ts'

/** A webhook of an agent, as its sender knows it. */
export interface Hook {
  readonly path: string
  readonly secret: string
}

export interface Asking {
  readonly supervisor: Supervisor
  readonly hooks: ReadonlyMap<string, Hook>
  readonly outside: string
  /** Aborted when no asker waits any longer. */
  readonly stopped: AbortSignal
}

interface Learned {
  readonly runIds: Set<string>
  told: AskedFact['told']
  accepted: boolean
  refused: string
}

const replyMaxMs = 400_000

/** Asks for one piece of work as people and external programs do, and returns what they learned of its outcome. */
export async function askForWork(
  asking: Asking,
  work: Work,
): Promise<{ asked: AskedFact[]; calls: CallFact[] }> {
  switch (work.kind) {
    case 'webhook':
      return { asked: [await deliver(asking, work)], calls: [] }
    case 'invoke':
      return invoke(asking, work)
    case 'chat': {
      const [asked, steered] = await Promise.all([
        chat(asking, work),
        work.steer === '' ? null : steer(asking, work),
      ])
      return { asked: steered ? [asked, steered] : [asked], calls: [] }
    }
  }
}

async function chat(asking: Asking, work: Work): Promise<AskedFact> {
  const { marker } = work.plan
  const body = { message: sayPlan(work.plan), session: marker }
  const learned = noReply()
  const post = () => {
    const { call } = meshCalls(asking.supervisor.url)
    const headers = { [headerNames.idempotencyKey]: marker }
    const params = { id: work.agent }
    return call(meshHumanEndpoints.chat, { params, body, headers, timeoutMs: replyMaxMs })
  }
  const record = (reply: Reply): boolean => recordRun(learned, reply)
  if (work.way === 'leaves') {
    await insist(asking, learned, () => leave(asking, work, learned))
  } else if (work.way === 'gives-up') {
    await asking.supervisor.ready()
    await post().then(record, () => false)
  } else {
    const once = () => insist(asking, learned, async () => record(await post()))
    await Promise.all(work.way === 'asks-twice' ? [once(), once()] : [once()])
  }
  return factOf(learned, { key: marker, kind: 'chat', way: work.way })
}

/** Submits the work and disconnects once its run is stored. */
async function leave(asking: Asking, work: Work, learned: Learned): Promise<boolean> {
  const { marker } = work.plan
  const options = { agent: work.agent, session: marker, key: marker }
  learned.runIds.add(await meshCalls(asking.supervisor.url).submit(sayPlan(work.plan), options))
  learned.accepted = true
  return true
}

async function steer(asking: Asking, work: Work): Promise<AskedFact> {
  const name = /s\d+/.exec(work.steer)?.[0] ?? ''
  const learned = noReply()
  await sleep(400)
  await insist(asking, learned, async () => {
    const { call } = meshCalls(asking.supervisor.url)
    const reply = await call(meshHumanEndpoints.steer, {
      params: { id: work.agent },
      body: { text: work.steer },
      headers: { [headerNames.idempotencyKey]: name },
    })
    if (reply.status >= 300) return refuse(learned, reply)
    learned.accepted = true
    return true
  })
  return factOf(learned, { key: name, kind: 'steer', way: 'waits' })
}

async function deliver(asking: Asking, work: Work): Promise<AskedFact> {
  const { marker } = work.plan
  const hook = asking.hooks.get(work.agent)
  if (!hook) throw new Error(`${work.agent} has no webhook`)
  const body = JSON.stringify({ text: sayPlan(work.plan) })
  const signature = createHmac('sha256', hook.secret).update(body).digest('hex')
  const learned = noReply()
  await insist(asking, learned, async () => {
    const { call } = meshCalls(asking.supervisor.url)
    const endpoint = { method: 'POST', path: hook.path, summary: '' } as const
    const headers = { 'x-webhook-signature': signature, 'webhook-id': marker }
    const reply = await call(endpoint, { body, headers: { ...headers, 'content-type': 'application/json' } })
    if (reply.status !== 202) return refuse(learned, reply)
    learned.runIds.add(String(reply.json()['run_id']))
    learned.accepted = true
    return true
  })
  return factOf(learned, { key: marker, kind: 'webhook', way: 'waits' })
}

/** Runs a tool without a model; the reply to the caller is the tool's own result. */
async function invoke(asking: Asking, work: Work): Promise<{ asked: AskedFact[]; calls: CallFact[] }> {
  const { marker, steps } = work.plan
  const [step] = steps
  if (!step) throw new Error(`${marker} has no step`)
  const id = callId(marker, 0, 0)
  const made = callFor(step, { id, marker, index: 0, outside: asking.outside })
  const learned = noReply()
  await insist(asking, learned, async () => {
    const { call } = meshCalls(asking.supervisor.url)
    const reply = await call(meshHumanEndpoints.invoke, {
      params: { id: work.agent },
      body: { tool: made.name, params: made.arguments },
      headers: { [headerNames.idempotencyKey]: marker },
      timeoutMs: replyMaxMs,
    })
    return recordRun(learned, reply)
  })
  const words = learned.told?.text ?? ''
  const told = learned.told === null ? null : learned.told.status === 'done' ? outcomeOf(words) : 'unknown'
  const call: CallFact = { id, marker, step: step.name, told, words: words.slice(0, 300) }
  return { asked: [factOf(learned, { key: marker, kind: 'invoke', way: work.way })], calls: [call] }
}

/** Repeats the attempt, across restarts of the mesh, until it succeeds or `stopped` is aborted. */
async function insist(asking: Asking, learned: Learned, attempt: () => Promise<boolean>): Promise<void> {
  while (!asking.stopped.aborted) {
    try {
      await asking.supervisor.ready()
      if (await attempt()) return
    } catch (error) {
      learned.refused = error instanceof Error ? error.message : String(error)
    }
    await sleep(100)
  }
}

function recordRun(learned: Learned, reply: Reply): boolean {
  if (reply.status >= 300) return refuse(learned, reply)
  const run = reply.json() as { id: string; outcome: AskedFact['told'] }
  learned.runIds.add(run.id)
  learned.accepted = true
  if (run.outcome) learned.told = { status: run.outcome.status, text: run.outcome.text }
  return run.outcome !== null
}

function refuse(learned: Learned, reply: Reply): false {
  learned.refused = `${reply.status} ${reply.text.slice(0, 300)}`
  return false
}

function noReply(): Learned {
  return { runIds: new Set(), told: null, accepted: false, refused: '' }
}

function factOf(learned: Learned, what: Pick<AskedFact, 'key' | 'kind' | 'way'>): AskedFact {
  return { ...what, ...learned, runIds: [...learned.runIds] }
}
