import { execFile } from 'node:child_process'
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import * as z from 'zod'
import { aCassette, runs, says } from '../support/cassettes.ts'
import { eventually } from '../support/eventually.ts'
import { repositoryRoot, startMesh } from '../support/mesh-process.ts'
import type { MeshProcess } from '../support/mesh-process.ts'
import { fetchPrometheus, startPrometheus } from '../support/prometheus.ts'
import type { Prometheus } from '../support/prometheus.ts'

const run = promisify(execFile)
const folder = await mkdtemp(join(tmpdir(), 'flotilla-prometheus-'))
const programs = await fetchPrometheus(folder)
const operations = join(repositoryRoot, 'docs', 'operations')
const cassette = aCassette({ agents: ['worker'], when: '^work$', turns: [runs('echo one'), says('Done.')] })

const dashboardSchema = z.object({
  panels: z.array(z.object({ title: z.string(), targets: z.array(z.object({ expr: z.string() })) })),
})
const answerSchema = z.looseObject({ status: z.string(), data: z.unknown(), error: z.string().optional() })
const rulesSchema = z.object({
  groups: z.array(
    z.object({ rules: z.array(z.looseObject({ name: z.string(), health: z.string(), query: z.string() })) }),
  ),
})

// The package comes from the distribution: without access to its archive, this test is skipped.
describe.skipIf(programs === null)('a real Prometheus beside a mesh', () => {
  let mesh: MeshProcess
  let prometheus: Prometheus
  beforeAll(async () => {
    mesh = await startMesh({ cassettes: { talk: cassette } })
    await mesh.createWorker('worker')
    await mesh.ask('work', { agent: 'worker' })
    await copyFile(join(operations, 'alerts.yml'), join(folder, 'alerts.yml'))
    const shipped = await readFile(join(operations, 'prometheus.yml'), 'utf8')
    const here = shipped.replaceAll('15s', '1s').replace('127.0.0.1:8420', new URL(mesh.url).host)
    if (here === shipped) throw new Error('the shipped configuration is another now')
    await writeFile(join(folder, 'prometheus.yml'), here)
    prometheus = await startPrometheus({
      programs: programs ?? '',
      configuration: join(folder, 'prometheus.yml'),
      folder,
    })
  })
  afterAll(async () => {
    await prometheus.stop()
    await mesh.stop()
    await rm(folder, { recursive: true, force: true })
  })

  async function ask(path: string, query: Readonly<Record<string, string>> = {}): Promise<unknown> {
    const reply = await fetch(`${prometheus.url}/api/v1/${path}?${new URLSearchParams(query).toString()}`)
    const answer = answerSchema.parse(await reply.json())
    expect(answer.error, path).toBeUndefined()
    return answer.data
  }

  it('a real Prometheus accepts the metrics of the mesh, and its linter finds no fault', async () => {
    await eventually('the mesh is scraped', async () => {
      const up = z
        .object({ result: z.array(z.object({ value: z.tuple([z.number(), z.string()]) })) })
        .parse(await ask('query', { query: 'up{job="flotilla"}' }))
      return up.result[0]?.value[1] === '1' || null
    })
    await writeFile(join(folder, 'metrics'), await fetch(`${mesh.url}/metrics`).then((reply) => reply.text()))
    const checked = await run('sh', [
      '-c',
      `${join(programs ?? '', 'promtool')} check metrics < ${join(folder, 'metrics')} 2>&1 || true`,
    ])
    // The only name that follows the specification and not the naming convention.
    const faults = checked.stdout.split('\n').filter((line) => !line.includes('_blackboard_xproject_count'))
    expect(faults.filter((line) => line !== '')).toEqual([])
  })

  it('a real Prometheus beside a mesh loads the alert rules and evaluates each without a fault', async () => {
    const checked = await run(join(programs ?? '', 'promtool'), [
      'check',
      'rules',
      join(operations, 'alerts.yml'),
    ])
    expect(checked.stdout).toContain('SUCCESS')
    await eventually('every rule was evaluated', async () => {
      const { groups } = rulesSchema.parse(await ask('rules'))
      const rules = groups.flatMap((group) => group.rules)
      return (rules.length > 5 && rules.every(({ health }) => health === 'ok')) || null
    })
  })

  it('a real Prometheus answers every query of the dashboard, and the mesh exports all its metrics', async () => {
    const dashboard = dashboardSchema.parse(
      JSON.parse(await readFile(join(operations, 'grafana-dashboard.json'), 'utf8')),
    )
    const rules = await readFile(join(operations, 'alerts.yml'), 'utf8')
    const asked = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr))
    expect(asked.length).toBeGreaterThan(10)
    for (const query of asked) await ask('query', { query })
    const told = await fetch(`${mesh.url}/metrics`).then((reply) => reply.text())
    const names = new Set([...asked, rules].flatMap((text) => text.match(/flotilla_[a-z0-9_]+/g) ?? []))
    for (const name of names) {
      expect(told, name).toContain(`# TYPE ${name.replace(/_(?:bucket|sum|count)$/, '')} `)
    }
  })
})
