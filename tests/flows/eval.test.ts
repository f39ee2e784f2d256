import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { aCassette, calls, runs, says } from '../support/cassettes.ts'
import { flotilla } from '../support/flotilla-command.ts'
import { startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'

const cassette = aCassette(
  {
    agents: ['counter', 'second'],
    when: '^How many lines',
    turns: [
      runs('wc -l < input/list.txt | sed s/^/lines:/'),
      calls(
        'save_artifact',
        { name: 'report.md', content: '{{lines}} lines' },
        { capture: { lines: 'lines: *(\\d+)' } },
      ),
      says('It has {{lines}} lines.'),
    ],
  },
  { agents: ['counter'], when: '^Wait', turns: [says('late', { delay_ms: 60_000 })] },
  {
    when: 'Judge one answer[^]*It has 2 lines',
    turns: [says('{"pass": true, "reason": "it says a number"}')],
  },
  { when: 'Judge one answer', turns: [says('I would say yes.')] },
)

const cases = `
name: lines
agent: counter
judge: { model: scripted/day }
concurrency: 3
cases:
  - name: counts
    ask: How many lines has it?
    files: { input/list.txt: "a\\nb\\n" }
    tools: [run_command, { tool: save_artifact, arguments: { name: report.md } }]
    never: [http_request]
    checks:
      - matches: '\\b2\\b'
      - lacks: I think
      - artifact: { name: report.md, contains: '2 lines' }
      - program: test "$(cat | grep -c '"tool":"run_command"')" = 1
      - judge: The answer says a number.
`

let mesh: MeshProcess
let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'flotilla-eval-'))
  mesh = await startMesh({ cassettes: { day: cassette } })
  for (const id of ['counter', 'second']) await mesh.createWorker(id)
})
afterAll(async () => {
  await mesh?.stop()
  await rm(folder, { recursive: true, force: true })
})

async function evaluated(text: string, ...more: string[]) {
  const file = join(folder, `${Math.random()}.yaml`)
  await writeFile(file, text)
  const { code, out, err } = await flotilla(
    { url: mesh.url, home: mesh.home },
    'eval',
    file,
    '--json',
    ...more,
  )
  const result = out === '' ? null : (JSON.parse(out) as EvalJson)
  return { code, result, err }
}

interface EvalJson {
  readonly score: number
  readonly passed: boolean
  readonly cost_usd: number
  readonly cases: readonly {
    name: string
    passed: boolean
    failures: string[]
    run_id: string | null
    seconds: number
  }[]
}

const failuresOf = (result: EvalJson | null, name: string) =>
  result?.cases.find((one) => one.name === name)?.failures.join('; ') ?? 'no such case'

describe('flotilla eval', () => {
  it('flotilla eval passes what did everything that was expected of it, and leaves no judge behind', async () => {
    const { code, result, err } = await evaluated(cases, '--programs')
    expect(failuresOf(result, 'counts')).toBe('')
    expect(code).toBe(0)
    expect(result).toMatchObject({ score: 1, passed: true, cost_usd: 0 })
    expect(err).toContain('1/1 pass counts')
    const run = await mesh.run(result?.cases[0]?.run_id ?? '')
    expect(run.outcome?.text).toBe('It has 2 lines.')
    const status = await mesh.call(meshHumanEndpoints.status)
    expect(status.text).not.toContain('eval-judge')
    expect((await mesh.runs()).some(({ agent_id: agent }) => agent.startsWith('eval-judge-'))).toBe(true)
  })

  it('flotilla eval fails below the bar, and says of each case why', async () => {
    const failing = `${cases}  - name: other file
    ask: How many lines has the other?
    agent: second
    files: { input/list.txt: "a\\nb\\nc\\n" }
    tools: [save_artifact, run_command]
    never: [run_command]
    checks:
      - contains: '2'
      - artifact: { name: none.md }
      - program: echo it is wrong; exit 3
      - judge: The answer says a number.
  - name: takes too long
    ask: Wait
    timeout_seconds: 1
  - name: nobody
    ask: Who?
    agent: nobody
`
    const { code, result } = await evaluated(failing, '--programs')
    expect(code).toBe(1)
    expect(result).toMatchObject({ score: 0.25, passed: false })
    const other = failuresOf(result, 'other file')
    expect(other).toContain(
      'no call of run_command after the previous ones; the calls were: run_command, save_artifact',
    )
    expect(other).toContain('run_command was called')
    expect(other).toContain('the answer lacks "2"')
    expect(other).toContain('artifact none.md: ')
    expect(other).toContain('the program ended with 3: it is wrong')
    expect(other).toContain('the judge: the judge returned no verdict')
    expect(failuresOf(result, 'takes too long')).toBe('it took longer than 1 s')
    expect(failuresOf(result, 'nobody')).toContain('unknown-agent')
    const late = result?.cases.find(({ name }) => name === 'takes too long')
    expect((await mesh.run(late?.run_id ?? '')).state).toBe('cancelled')
    const enough = await evaluated(`${failing}bar: 0.25\n`, '--programs')
    expect([enough.code, enough.result?.passed]).toEqual([0, true])
  })

  it('flotilla eval runs no program of a file unless it is asked to', async () => {
    const { code, result } = await evaluated(cases)
    expect(code).toBe(1)
    expect(failuresOf(result, 'counts')).toBe('its check is a program, which runs only with --programs')
  })

  it('flotilla eval prints a table for people', async () => {
    const file = join(folder, 'table.yaml')
    await writeFile(file, cases)
    const { out } = await flotilla({ url: mesh.url, home: mesh.home }, 'eval', file)
    expect(out).toMatch(/^CASE +RESULT +TIME +COST +RUN +WHY/)
    expect(out).toContain('lines: 0 of 1 pass (0 %), below the bar of 100 %.')
  })

  it('flotilla eval refuses a file that is broken before anything is asked', async () => {
    const before = (await mesh.runs()).length
    const { code, err } = await evaluated('name: x\n')
    expect(code).toBe(2)
    expect(err).toContain('The file of cases cannot be used')
    expect((await mesh.runs()).length).toBe(before)
  })
})
