import { createMeshClient } from '@flotilla/client/mesh-client'
import { describe, expect, it } from 'vitest'
import { CommandFailed } from '../command-failed.ts'
import { keepTerminal } from '../fake-terminal.ts'
import type { SlashCall } from './slash-command.ts'
import { slashCommands } from './slash-commands.ts'

/** Types one line; returns the command lines that it ran, the requests to the mesh, and the output and errors. */
async function typed(
  line: string,
  {
    answer = '',
    state = 'pending',
    becomes = state,
  }: { readonly answer?: string; readonly state?: string; readonly becomes?: string } = {},
) {
  const [name = '', ...rest] = line.slice(1).split(/\s+/)
  const ran: string[] = []
  const requests: string[] = []
  const called: unknown[] = []
  const { terminal, out } = keepTerminal()
  const client = {
    ...createMeshClient({ baseUrl: 'http://127.0.0.1:9' }),
    call: (endpoint: string, parts: unknown) => {
      called.push([endpoint, parts])
      const now = endpoint === 'pendingConfirm' ? becomes : state
      return Promise.resolve({ id: 'appr_1', digest: 'of-what-was-shown', state: now, detail: 'it happened' })
    },
  }
  const call: SlashCall = {
    client: client as unknown as SlashCall['client'], // only the calls of these commands exist
    terminal,
    agentId: 'scout',
    session: { name: () => 'default', change: () => undefined },
    project: { name: () => null, change: () => undefined },
    lastRun: null,
    rest,
    say: () => Promise.resolve(),
    use: () => Promise.resolve(),
    requireAgent: async (agentId) => {
      if (agentId === 'nobody') throw new CommandFailed('unknown-agent', { detail: 'none', repair: 'none' })
    },
    run: async (words) => void ran.push(words.join(' ')),
    onInterrupt: () => () => undefined,
    ask: async (question) => {
      requests.push(question)
      return answer
    },
  }
  const found = slashCommands.find((command) => command.name === name)
  const wrong = await found?.run(call).then(
    () => null,
    (error: unknown) => (error instanceof Error ? error.message : 'something'),
  )
  return { ran, asked: requests, called, said: out.text(), wrong }
}

describe('commands at the prompt', () => {
  it.each([
    ['/cron pause cron_1', 'cron set --off -- cron_1'],
    ['/cron resume cron_1', 'cron set --on -- cron_1'],
    ['/cron run cron_1', 'cron run -- cron_1'],
    ['/cron del cron_1', 'cron remove -- cron_1'],
    ['/cron', 'cron list'],
    ['/blackboard set notes/a two words', 'blackboard set -- notes/a two words'],
    ['/blackboard del notes/a', 'blackboard delete -- notes/a'],
    ['/blackboard list notes/', 'blackboard notes/'],
    ['/costs', 'costs --by agent'],
    ['/costs day', 'costs --by day'],
    ['/traces', 'runs --limit 10'],
    ['/traces run_1', 'trace -- run_1'],
    ['/restart', 'restart -- scout'],
    ['/cancel appr_1', 'cancel -- appr_1'],
    ['/pending', 'pending --'],
    ['/undo change_1', 'undo -- change_1'],
    ['/debug run_1', 'replay run_1 --record'],
  ])('%s is `%s` of the command line', async (line, words) => {
    expect(await typed(line)).toMatchObject({ ran: [words], wrong: null })
  })

  it.each([
    '/cron run',
    '/cron pause',
    '/cron soon cron_1',
    '/blackboard get',
    '/blackboard set notes/a',
    '/costs week',
    '/cancel',
    '/confirm',
    '/undo',
  ])('%s lacks something, shows its usage, and runs nothing', async (line) => {
    const [name = ''] = line.split(' ')
    expect(await typed(line)).toMatchObject({
      ran: [],
      wrong: expect.stringMatching(new RegExp(`^Usage: ${name} `)),
    })
  })

  it('an agent that is not there is said before its name is to be typed again', async () => {
    expect(await typed('/remove nobody', { answer: 'nobody' })).toMatchObject({
      ran: [],
      asked: [],
      wrong: 'none',
    })
    expect(await typed('/restart nobody')).toMatchObject({ ran: [], wrong: 'none' })
    expect(await typed('/remove helper', { answer: 'helper' })).toMatchObject({
      ran: ['delete --yes -- helper'],
      asked: [expect.stringContaining('helper')],
    })
  })

  it('what waits is shown, and happens only after a yes, as it was shown', async () => {
    const confirmed = await typed('/confirm appr_1', { answer: 'yes' })
    expect(confirmed.ran).toEqual(['pending -- appr_1'])
    expect(confirmed.called.at(-1)).toEqual([
      'pendingConfirm',
      { params: { id: 'appr_1' }, body: { digest: 'of-what-was-shown' } },
    ])
    const kept = await typed('/confirm appr_1', { answer: 'no' })
    expect(kept.called.map((one) => (one as unknown[])[0])).toEqual(['pendingOne'])
    expect(kept.said).toContain('Nothing was changed.')
    const begun = await typed('/confirm appr_1', { answer: 'yes', becomes: 'confirmed' })
    expect(begun.ran).toEqual(['pending -- appr_1', 'confirm -- appr_1'])
    const decided = await typed('/confirm appr_1', { answer: 'yes', state: 'done' })
    expect(decided).toMatchObject({ asked: [], ran: ['pending -- appr_1'] })
  })
})
