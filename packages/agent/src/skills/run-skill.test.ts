import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { skillGlobals } from '@flotilla/protocol/skill-surface'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../../../tests/support/eventually.ts'
import { skillEscapes } from '../../../../tests/support/skill-escapes.ts'
import { canary, escapeGround, harmless, uncheckedCode } from '../../../../tests/support/try-escape.ts'
import type { EscapeGround } from '../../../../tests/support/try-escape.ts'
import { heedsLesson, verifies } from '../../../../tests/verifies.ts'
import { systemClock } from '../system-clock.ts'
import { nodeFlags, runSkill } from './run-skill.ts'
import type { SkillJob } from './run-skill.ts'
import { skillBounds } from './skill-bounds.ts'

const body = (text: string, before = '') => `import { skill } from '@flotilla/skill'
${before}
export default skill('one', 'd', {}, async (input, { mesh_client }) => { ${text} })`

function run(code: string, more: Partial<SkillJob> = {}) {
  return runSkill({
    code,
    input: { x: 'x' },
    nonce: 'a nonce ',
    clock: systemClock,
    signal: new AbortController().signal,
    callTool: async () => ({ output: null, ok: true }),
    ...more,
  })
}

describe('a skill', () => {
  test('a skill takes its parameters and mesh_client, and returns an object', async () => {
    verifies('resources:skill:mesh-client', 'resources:skill:returns-dict')
    const made: unknown[] = []
    const code = body(
      `console.log('found', { n: 1 })
       const read = await mesh_client.read_blackboard({ key: 'a' })
       const missing = await mesh_client.read_blackboard({ key: 'b' }).catch((error) => error.message)
       return { read, missing, joined: join('a', 'b'), x: input.x }`,
      `import { join } from 'node:path'`,
    )
    const end = await run(code, {
      callTool: async (tool, input, { number }) => {
        made.push([tool, input, number])
        return number === 1 ? { output: { value: 7 }, ok: true } : { output: 'Error (not-found)', ok: false }
      },
    })
    expect(end).toEqual({
      result: { read: { value: 7 }, missing: 'Error (not-found)', joined: 'a/b', x: 'x' },
      logs: ['found {"n":1}'],
    })
    expect(made).toEqual([
      ['read_blackboard', { key: 'a' }, 1],
      ['read_blackboard', { key: 'b' }, 2],
    ])
  })

  test.each([
    ['a list', 'return [1]'],
    ['nothing', ''],
    ['a text', `return 'x'`],
    ['a map', 'return new Map()'],
    ['what JSON cannot say', 'return { n: 1n }'],
  ])('a skill that returns %s fails and says why', async (_what, text) => {
    await expect(run(body(text))).rejects.toThrow(/plain object|BigInt/)
  })

  test('a skill that throws is reported with its own lines and its log', async () => {
    const failed = run(body(`console.log('so far'); null.x`))
    await expect(failed).rejects.toThrow(/TypeError: .*\n.*skill:main:3.*\n.*\nso far/s)
    await expect(failed).rejects.not.toThrow(/eval1|node:internal/)
  })

  test('a skill finds around itself what the check lets it name, and nothing else', async () => {
    const { result } = await run(body('return { names: Object.getOwnPropertyNames(globalThis) }'))
    const names = new Set(result['names'] as string[]) // what this skill returns
    expect([...names].filter((name) => !skillGlobals.includes(name))).toEqual(['globalThis'])
  })
})

describe('an escape, run without any check,', () => {
  let ground: EscapeGround
  beforeAll(async () => {
    ground = await escapeGround()
    process.env['FLOTILLA_TEST_TOKEN'] = canary
  })
  afterAll(() => ground.close())

  test.each(skillEscapes)(
    'an escape, run without any check, that $name gets nothing and leaves no trace',
    async (escape) => {
      heedsLesson(36)
      const end = await run(uncheckedCode(escape, ground.targets)).catch((error: unknown) => error as Error)
      if (end instanceof Error) expect(end.message).toMatch(/^The skill failed: \w*(Error|Syntax)/)
      else expect(harmless).toContain(end.result['got'])
      expect(JSON.stringify(end instanceof Error ? end.message : end)).not.toContain(canary)
      expect(ground.traces()).toEqual([])
    },
  )

  test.each([
    ['a file', `fs.readFileSync(FILE)`],
    ['a new file', `fs.writeFileSync(NEW, 'x')`],
    ['a report', `process.report.writeReport(NEW)`],
    ['a program', `child_process.execFileSync('cat', [FILE])`],
    ['a thread', `new worker_threads.Worker('1', { eval: true })`],
    ['a connection', `net.connect(PORT, '127.0.0.1')`],
    ['a datagram', `dgram.createSocket('udp4').send('x', PORT, '127.0.0.1')`],
    ['a name', `await dns.promises.lookup('localhost')`],
    ['a debugger', `inspector.open(0)`],
    ['an engine binding', `process.dlopen({ exports: {} }, '/lib/x86_64-linux-gnu/libc.so.6')`],
    ['text as code', `(() => {}).constructor('return 1')()`],
  ])(
    'an escape, run without any check, to %s is refused by the engine even with the process in its hands',
    (_what, act) => {
      const { secretFile, newFile, port } = ground.targets
      const words = act.replace('FILE', `'${secretFile}'`).replace('NEW', `'${newFile}'`)
      const text = `await new Promise(async (done, fail) => {
      process.on('uncaughtException', fail)
      try { const it = ${words.replace('PORT', String(port))}; it?.on?.('error', fail); setTimeout(() => done('done'), 300) } catch (e) { fail(e) }
    }).then(console.log, (error) => console.log('refused ' + error.name))`
      const imports = ['fs', 'child_process', 'worker_threads', 'net', 'dgram', 'dns', 'inspector']
      const program =
        imports.map((name) => `import * as ${name} from 'node:${name}'`).join('\n') + `\n${text}`
      const ended = spawnSync(process.execPath, [...nodeFlags, '-e', program], { env: {}, encoding: 'utf8' })
      expect(ended.stdout).toMatch(/^refused /)
      expect(ended.stdout + ended.stderr).not.toContain(canary)
      expect(ground.traces()).toEqual([])
    },
  )
})

describe('what a skill may use up is bounded:', () => {
  test('an endless loop ends when the time is up', async () => {
    await expect(run(body('for (;;);'), { wallMs: 700 })).rejects.toThrow('longer than 0.7 s')
  })

  test('a promise that never settles ends when the time is up', async () => {
    const never = run(body('await new Promise(() => setTimeout(() => {}, 1e8)); return {}'), { wallMs: 700 })
    await expect(never).rejects.toThrow('longer than 0.7 s')
  })

  test.each([
    ['objects', 'const l = []; for (;;) l.push({ i: [l.length] })'],
    ['buffers', 'const l = []; for (;;) l.push(new Uint8Array(5e7).fill(1))'],
    ['texts', `let t = 'x'; const l = []; for (;;) { t += t.slice(0, 1e6) + l.length; l.push(t.split('')) }`],
  ])('a bomb of %s ends with its memory', async (_what, text) => {
    await expect(run(body(text))).rejects.toThrow(/more memory|allocation failed|Invalid string length/)
  })

  test('a million log lines are cut to a hundred, with the rest counted', async () => {
    const end = await run(body(`for (let i = 0; i < 1e6; i++) console.log('line', i); return {}`))
    expect(end.logs).toHaveLength(skillBounds.logLinesMax + 1)
    expect(end.logs.at(-1)).toBe('[999900 more lines left out]')
  })

  test('a huge result is refused with its size', async () => {
    const huge = run(body(`return { text: 'x'.repeat(${skillBounds.resultMaxChars}) }`))
    await expect(huge).rejects.toThrow(/at most 262144/)
  })

  test('calls of the mesh and what is said in them', async () => {
    const many = run(body('for (let i = 0; i < 200; i++) await mesh_client.list_blackboard(); return {}'))
    await expect(many).rejects.toThrow('more than 100 calls')
    const loud = run(body(`await mesh_client.write_blackboard({ value: 'x'.repeat(9e6) }); return {}`))
    await expect(loud).rejects.toThrow('the skill printed too much output')
  })

  test('a hundred calls of the mesh are made, and the next ends the skill before it is', async () => {
    let made = 0
    const callTool: SkillJob['callTool'] = async () => {
      made += 1
      return { output: null, ok: true }
    }
    const calls = (count: number) =>
      run(body(`for (let i = 0; i < ${count}; i++) await mesh_client.list_blackboard(); return {}`), {
        callTool,
      })
    expect((await calls(100)).result).toEqual({})
    expect(made).toBe(100)
    await expect(calls(101)).rejects.toThrow('more than 100 calls')
    expect(made).toBe(200)
  })

  test('a call that still waits when the skill ends is never started', async () => {
    const begun: unknown[] = []
    const text = `mesh_client.notify_user({ message: 'a' }); mesh_client.notify_user({ message: 'b' }); throw new Error('end')`
    const failed = run(body(text), {
      callTool: async (_tool, { message }, { signal }) => {
        begun.push(message)
        if (!signal.aborted) {
          await new Promise((resolve) => {
            signal.addEventListener('abort', resolve, { once: true })
          })
        }
        return { output: null, ok: true }
      },
    })
    await expect(failed).rejects.toThrow('end')
    for (let turns = 0; turns < 5; turns++) {
      await new Promise((resolve) => {
        setImmediate(resolve)
      })
    }
    expect(begun).toEqual(['a'])
  })

  test('calls that it does not wait for are made, and none goes on after its end', async () => {
    const signals: AbortSignal[] = []
    const callTool: SkillJob['callTool'] = async (_tool, _input, { signal }) => {
      await systemClock.sleep(50)
      signals.push(signal)
      return { output: null, ok: true }
    }
    await run(body('mesh_client.notify_user({ message: "a" }); return {}'), { callTool })
    expect(signals.map(({ aborted }) => aborted)).toEqual([true])
    const waits = run(body('await mesh_client.notify_user({ message: "a" }); return {}'), {
      wallMs: 700,
      callTool: async (_tool, _input, { signal }) => {
        signals.push(signal)
        return new Promise(() => undefined)
      },
    })
    await expect(waits).rejects.toThrow('longer than')
    expect(signals[1]?.aborted).toBe(true)
  })

  test('the end of the run ends the skill, and its process with it', async () => {
    const stop = new AbortController()
    const running = run(body('await mesh_client.list_blackboard(); for (;;);'), {
      signal: stop.signal,
      callTool: async () => {
        stop.abort(new Error('cancelled'))
        return { output: null, ok: true }
      },
    })
    await expect(running).rejects.toThrow('cancelled')
    await eventually('its process is gone', () => Promise.resolve(ownPrograms() === 0 || null))
  })
})

/** Number of living programs that this process has started. */
function ownPrograms(): number {
  const tasks = readdirSync('/proc/self/task')
  const children = tasks.flatMap((task) =>
    readFileSync(`/proc/self/task/${task}/children`, 'utf8').split(' ').filter(Boolean),
  )
  return children.length
}
