import { setImmediate } from 'node:timers/promises'
import type { Clock } from '@flotilla/protocol/clock'
import { createMeshClient } from '@flotilla/client/mesh-client'
import type { ChatStreamFrame } from '@flotilla/protocol/mesh-human-api'
import type { RunOutcome } from '@flotilla/protocol/run'
import { createManualClock } from '../../../protocol/src/testing/manual-clock.ts'
import { aRunView } from '../../../testing/src/run-view.ts'
import { describe, expect, it } from 'vitest'
import { keepTerminal, stillClock } from '../fake-terminal.ts'
import type { Colors } from '../terminal/color.ts'
import { askLive } from './live-run.ts'

const text = (content: string, agent = 'operator'): ChatStreamFrame => ({
  type: 'event',
  event: { type: 'text.streamed', agent_id: agent, run_id: 'run_1', content },
})
const saved: ChatStreamFrame = {
  type: 'event',
  event: { type: 'artifact.saved', agent_id: 'auditor', name: 'report.md', size_bytes: 10 },
}
const ended = (outcome: RunOutcome): ChatStreamFrame => ({
  type: 'ended',
  run: aRunView({ state: outcome.status, outcome }),
})

const wait = (state: 'retries' | 'silent' | 'over', seconds = 5): ChatStreamFrame => ({
  type: 'event',
  event: {
    type: 'model.delayed',
    agent_id: 'operator',
    run_id: 'run_1',
    state,
    seconds,
    model: 'openai/gpt',
    provider: 'openai\u001B[2J',
    provider_status: state === 'retries' ? 429 : null,
    code: state === 'retries' ? 'rate-limited' : null,
  },
})

async function shown(
  frames: readonly ChatStreamFrame[],
  eventsBeside = false,
  { isTTY = false, colors = 'off' }: { readonly isTTY?: boolean; readonly colors?: Colors } = {},
) {
  const { terminal, out, err } = keepTerminal({ isTTY, colors })
  const client = {
    ...createMeshClient({ baseUrl: 'http://127.0.0.1:9' }),
    async *chatStream() {
      yield* frames
    },
  }
  await askLive(client, terminal, {
    agentId: 'operator',
    message: 'Hi',
    idempotencyKey: 'k',
    clock: stillClock,
    eventsBeside,
  })
  return { out: out.text(), err: err.text() }
}

describe('a run shown as it happens', () => {
  const accepted: ChatStreamFrame = { type: 'accepted', run_id: 'run_1' }
  const done = ended({ status: 'done', text: 'Hello' })

  it('a run shown as it happens says that its agent is in quarantine, and what to do, when it comes there', async () => {
    const lost: ChatStreamFrame = {
      type: 'event',
      event: {
        type: 'agent.changed',
        agent_id: 'operator',
        from: 'running',
        to: 'quarantined',
        reason: 'it was killed',
      },
    }
    const words =
      'Its work waits; the mesh retries from time to time. To retry now: flotilla restart operator'
    expect((await shown([accepted, text('He'), lost, done], true)).err).toContain(
      `is in quarantine: it was killed. ${words}`,
    )
    expect((await shown([accepted, done], true)).err).toBe('')
  })

  it('the end of a run is printed once, and the end of another run is printed too', async () => {
    const outcome: RunOutcome = { status: 'failed', text: 'no key', code: 'not-configured' }
    const failed = (id: string): ChatStreamFrame => ({
      type: 'event',
      event: {
        type: 'run.changed',
        run_id: id,
        agent_id: 'operator',
        parent_id: null,
        state: 'failed',
        outcome,
      },
    })
    const accepted: ChatStreamFrame = { type: 'accepted', run_id: 'run_1' }
    const { out, err } = await shown([accepted, failed('run_1'), failed('run_2'), ended(outcome)])
    expect(out).not.toContain('run_1')
    expect(out).toContain('run run_2 is failed: no key')
    expect(err.match(/no key/g)).toHaveLength(1)
  })

  it('a run shown as it happens shows streamed words once, also when a line came after them', async () => {
    const frames = [text('Hel'), text('lo'), saved, ended({ status: 'done', text: 'Hello' })]
    expect((await shown(frames)).out).toBe('Hello\nauditor    saved artifact report.md, 10 B\n')
  })

  it('a run shown as it happens shows the outcome where its words did not stream', async () => {
    const frames = [text('Wait.'), saved, ended({ status: 'done', text: 'Hello' })]
    expect((await shown(frames)).out).toMatch(/^Wait\.\n.*report\.md.*\nHello\n$/)
  })

  it('a run shown as it happens does not mix the words of other agents into the answer', async () => {
    const frames = [text('inner', 'auditor'), text('Hello'), ended({ status: 'done', text: 'Hello' })]
    expect((await shown(frames)).out).toBe('Hello\n')
  })

  it('a run shown as it happens keeps standard output for the answer where events go beside it', async () => {
    const frames = [text('Wait.'), saved, text('Hello'), ended({ status: 'done', text: 'Hello' })]
    expect(await shown(frames, true)).toEqual({
      out: 'Hello\n',
      err: 'auditor    saved artifact report.md, 10 B\n',
    })
  })

  it('an answer is rendered on a terminal with colors, streamed or whole, and stays Markdown without them', async () => {
    const answer = 'It is **right**.\n- one'
    const frames = [text('It is **ri'), text('ght**.\n- one'), ended({ status: 'done', text: answer })]
    const strong = 'It is \u001B[1mright\u001B[22m.\n• one\n'
    for (const beside of [true, false]) {
      expect((await shown(frames, beside, { isTTY: true, colors: 'auto' })).out).toBe(strong)
      expect((await shown(frames, beside, { isTTY: true, colors: 'off' })).out).toBe(`${answer}\n`)
      expect((await shown(frames, beside, { colors: 'auto' })).out).toBe(`${answer}\n`)
    }
  })

  it('a failed run is printed as an error with its code and repair', async () => {
    const { out, err } = await shown([ended({ status: 'failed', text: 'no key', code: 'provider-refused' })])
    expect(out).toBe('')
    expect(err).toMatch(/✗ no key\n {2}code provider-refused\n {2}next .*key/)
  })

  it('a wait is printed as a line when the terminal cannot rewrite lines', async () => {
    const frames = [wait('silent', 1), wait('silent', 2), wait('retries'), wait('over'), text('Hi')]
    const { out, err } = await shown([...frames, ended({ status: 'done', text: 'Hi' })], true)
    expect(out).toBe('Hi\n')
    expect(err).toBe(
      'operator   waits for openai\uFFFD[2J: no answer for 2 s\noperator   tries again in 5 s: 429 from openai\uFFFD[2J\n',
    )
  })

  it('a wait is printed at a terminal as one line that is removed at its end', async () => {
    const { out, err } = await shown(
      [wait('silent', 1), text('Hi'), ended({ status: 'done', text: 'Hi' })],
      true,
      { isTTY: true },
    )
    expect(out).toBe('Hi\n')
    expect(err).toBe('\r\u001B[Kwaits for openai\uFFFD[2J: no answer for 1 s\r\u001B[K')
  })

  it('a queued run is printed as queued until it starts', async () => {
    let now = 0
    const clock: Clock = {
      now: () => now,
      sleep: async (ms, signal) => {
        await setImmediate()
        signal?.throwIfAborted()
        now += ms
      },
    }
    const { terminal, err } = keepTerminal({ isTTY: true, colors: 'off', clock })
    const changed = (state: 'queued' | 'running'): ChatStreamFrame => ({
      type: 'event',
      event: {
        type: 'run.changed',
        agent_id: 'operator',
        run_id: 'run_1',
        parent_id: null,
        state,
        outcome: null,
      },
    })
    let before = ''
    const client = {
      ...createMeshClient({ baseUrl: 'http://127.0.0.1:9' }),
      async *chatStream(): AsyncGenerator<ChatStreamFrame> {
        yield { type: 'accepted', run_id: 'run_1' }
        yield changed('queued')
        while (!err.text().includes('waits for its turn, 3 s so far: operator')) await setImmediate()
        yield changed('running')
        before = err.text()
        yield text('Hi')
        for (let tick = 0; tick < 20; tick++) await setImmediate()
        yield ended({ status: 'done', text: 'Hi' })
      },
    }
    const ask = {
      agentId: 'operator',
      message: 'Hi',
      idempotencyKey: 'k',
      clock: stillClock,
      eventsBeside: true,
    }
    await askLive(client, terminal, ask)
    expect(before).not.toContain('0 s so far')
    expect(err.text()).toBe(before)
    expect(before.endsWith('\r\u001B[K')).toBe(true)
  })

  it.each([
    [true, 'has not started yet, 4 s so far: waits for 512 MB'],
    [false, 'operator   has not started yet: waits for 512 MB\n'],
  ])('a run says what the start of its agent waits for (terminal: %s)', async (isTTY, words) => {
    const clock = createManualClock()
    const { terminal, out, err } = keepTerminal({ isTTY, colors: 'off', clock })
    const mesh = createMeshClient({ baseUrl: 'http://127.0.0.1:9' })
    const waiting = { agents: [{ id: 'operator', waits_for: 'waits for 512 MB' }] }
    const asked: string[] = []
    const client = {
      ...mesh,
      call: (async () => {
        asked.push('status')
        return waiting
      }) as unknown as typeof mesh.call,
      async *chatStream(): AsyncGenerator<ChatStreamFrame> {
        yield { type: 'accepted', run_id: 'run_1' }
        while (asked.length < 2 || !err.text().includes(words)) {
          await setImmediate()
          await clock.advance(1000)
        }
        yield text('Hi')
        yield done
      },
    }
    await askLive(client, terminal, {
      agentId: 'operator',
      message: 'Hi',
      idempotencyKey: 'k',
      clock,
      eventsBeside: true,
    })
    expect(out.text()).toBe('Hello\n')
    expect(err.text().split('has not started yet: ').length).toBe(isTTY ? 1 : 2)
    const before = asked.length
    await clock.advance(10_000)
    expect(asked).toHaveLength(before)
  })

  const steer = (state: 'waiting' | 'taken'): ChatStreamFrame => ({
    type: 'event',
    event: {
      type: 'steer.changed',
      agent_id: 'operator',
      steer_id: 'steer_1',
      run_id: 'run_1',
      state,
      text: 'shorter',
      step: state === 'taken' ? 1 : null,
      became_run_id: null,
    },
  })

  it('a run shown as it happens shows an answer once through which a person spoke, and other news came', async () => {
    const frames = [text('Hel'), steer('waiting'), text('lo'), saved, text('!')]
    expect((await shown([...frames, ended({ status: 'done', text: 'Hello!' })])).out).toBe(
      'Hel\noperator   will read “shorter” before its next step\nlo\nauditor    saved artifact report.md, 10 B\n!\n',
    )
  })

  it('a run shown as it happens keeps apart what was said before and after the agent waited for another', async () => {
    const waits: ChatStreamFrame = {
      type: 'event',
      event: {
        type: 'run.changed',
        agent_id: 'operator',
        run_id: 'run_1',
        parent_id: null,
        state: 'waiting',
        outcome: null,
      },
    }
    const frames = [text('It looks.'), waits, text('Done.'), ended({ status: 'done', text: 'Done.' })]
    expect((await shown(frames)).out).toBe('It looks.\noperator   waits for what it asked for\nDone.\n')
  })

  it('a run shown as it happens keeps what a tool is given and gives to one row of a terminal', async () => {
    const called: ChatStreamFrame = {
      type: 'event',
      event: {
        type: 'tool.started',
        agent_id: 'operator',
        run_id: 'run_1',
        step: 1,
        name: 'run_command',
        input: { command: 'x'.repeat(200) },
      },
    }
    const { out } = await shown([called, ended({ status: 'done', text: 'Hi' })], false, { isTTY: true })
    const [row = ''] = out.split('\n')
    expect(row).toMatch(/^operator {3}run_command x+…$/)
    expect(row.length).toBeLessThan(100)
  })

  it('a run shown as it happens keeps apart what was said before and after the agent read what was said to it', async () => {
    const frames = [text('Long.'), steer('taken'), text('Short.'), ended({ status: 'done', text: 'Short.' })]
    expect((await shown(frames)).out).toBe('Long.\noperator   reads “shorter” after step 1\nShort.\n')
  })
})
