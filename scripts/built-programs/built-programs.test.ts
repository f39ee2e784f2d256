import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { withoutStatuses, withoutSummaries } from './build-dashboard.ts'
import { bundleProgram } from './build-program.ts'
import { forgetOldBuilds } from './forget-old-builds.ts'
import { withOlderPlace, withPlace } from './read-sources.ts'

describe('a source that asks where it lies', () => {
  test('a source that asks where it lies gets its own path', () => {
    expect(withPlace('join(import.meta.dirname, "x"); new URL("y", import.meta.url)', '/a/b.ts')).toBe(
      'join("/a", "x"); new URL("y", "file:///a/b.ts")',
    )
  })

  test('a source that asks where it lies has the two names of the older form, and stays strict where it was', () => {
    const source = "// a header\n'use strict'\nmodule.exports = __dirname"
    expect(withOlderPlace(source, '/a/b.js')).toBe(`'use strict'; var __dirname = "/a";\n${source}`)
    expect(withOlderPlace('exports.at = __filename', '/a/b.js')).toBe(
      'var __filename = "/a/b.js";\nexports.at = __filename',
    )
  })

  test('a source that asks where it lies and keeps those that it makes itself', () => {
    const source = 'const __dirname = dirname(fileURLToPath(import.meta.url))'
    expect(withOlderPlace(source, '/a/b.mjs')).toBe(source)
  })
})

test('the pages are built without the summaries of endpoints, and with all else that is called so', () => {
  const endpoint = (summary: string) => `a: { method: 'GET', path: '/a/{id}',${summary} },`
  const removed = (summary: string) => withoutSummaries(endpoint(summary)).replaceAll(/\s+/g, ' ')
  const bare = "a: { method: 'GET', path: '/a/{id}', },"
  expect(removed(" summary: 'Return it.'")).toBe(bare)
  expect(removed(`\n    summary: "Return \\"it\\", and 'that'.",\n  `)).toBe(bare)
  const tool = "{ name: 'a', summary: 'a new worker' }, summary: z.string()"
  expect(withoutSummaries(tool)).toBe(tool)
})

test('the pages are built without the statuses of problems, and with their titles and repairs', () => {
  const problem =
    "status: 404,\n    title: 'Not found: it\\'s gone',\n    retryable: false,\n    repair: 'Look.'"
  expect(withoutStatuses(problem).replaceAll(/\s+/g, ' ').trim()).toBe(
    "title: 'Not found: it\\'s gone', repair: 'Look.'",
  )
  const other = 'status: 404, title: z.string()'
  expect(withoutStatuses(other)).toBe(other)
})

describe('a module of Node’s own', () => {
  test.each(['http', 'node:http', 'https'])('%s has its names, imported early or late', async (name) => {
    const folder = mkdtempSync(join(tmpdir(), 'bundled-'))
    const entry = join(folder, 'main.ts')
    writeFileSync(
      entry,
      `import { Agent as Early } from '${name}'
      const { Agent: Late } = await import('${name}')
      export const made = [new Early(), new Late()].map((agent) => typeof agent.destroy)`,
    )
    for (const { path, contents } of await bundleProgram(folder, entry, {}))
      writeFileSync(join(folder, basename(path)), contents)
    const built: unknown = await import(pathToFileURL(join(folder, 'main.mjs')).href)
    expect(built).toMatchObject({ made: ['function', 'function'] })
  })
})

async function bundled(source: string): Promise<string> {
  // In the checkout, because the entry imports a library.
  const folder = mkdtempSync(join(import.meta.dirname, 'bundled-'))
  try {
    writeFileSync(join(folder, 'main.ts'), source)
    const files = await bundleProgram(folder, join(folder, 'main.ts'), {})
    return files.map(({ contents }) => Buffer.from(contents).toString()).join('\n')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

test('a pattern stays a literal, which Node compiles when it is first used', async () => {
  expect(await bundled(String.raw`export const emoji = /^\p{RGI_Emoji}$/v`)).toContain(
    String.raw`/^\p{RGI_Emoji}$/v`,
  )
})

test('the library of the HTTP server is loaded when the first server is created', async () => {
  const text = await bundled("import fastify from 'fastify'\nexport const open = () => fastify({})")
  const loads = text.split('\n').filter((line) => line.includes('require_fastify()'))
  expect(loads.length).toBeGreaterThan(0)
  expect(loads.filter((line) => !line.includes('=> require_fastify()(options)'))).toEqual([])
})

describe('builds of earlier sources', () => {
  const hour = 3_600_000
  const nowMs = Date.UTC(2026, 10, 22)

  function folders(names: Readonly<Record<string, number>>) {
    const folder = mkdtempSync(join(tmpdir(), 'builds-'))
    for (const [name, hoursOld] of Object.entries(names)) {
      mkdirSync(join(folder, name))
      const seconds = (nowMs - hoursOld * hour) / 1000
      utimesSync(join(folder, name), seconds, seconds)
    }
    return folder
  }
  const digest = (digit: number) => `${digit}`.repeat(16)

  test('builds of earlier sources go but for the last five of each program, with what is left of one that was broken off', () => {
    const folder = folders({
      ...Object.fromEntries([1, 2, 3, 4, 5, 6, 7].map((age) => [`mesh-${digest(age)}`, age])),
      [`cli-${digest(9)}`]: 900,
      [`cli-${digest(8)}.4711`]: 2,
      [`cli-${digest(7)}.4712`]: 0,
    })
    forgetOldBuilds(folder, { compiled: join(folder, 'none'), nowMs })
    expect(readdirSync(folder)).toEqual([
      `cli-${digest(7)}.4712`,
      `cli-${digest(9)}`,
      ...[1, 2, 3, 4, 5].map((age) => `mesh-${digest(age)}`),
    ])
  })

  test('the code that Node compiled for builds of earlier sources is removed after a week, and nothing else', () => {
    const folder = folders({ [`mesh-${digest(1)}`]: 1 })
    const compiled = folders({
      [`mesh-${digest(1)}`]: 900,
      [`mesh-${digest(2)}`]: 900,
      [`mesh-${digest(3)}`]: 1,
      'v26.10.0-x64': 900,
    })
    forgetOldBuilds(folder, { compiled, nowMs })
    expect(existsSync(join(compiled, `mesh-${digest(2)}`))).toBe(false)
    expect(readdirSync(compiled)).toHaveLength(3)
  })
})
