import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { meshHumanEndpoints } from '@flotilla/protocol/mesh-human-api'
import { aCassette, says } from '../tests/support/cassettes.ts'
import { startMesh } from '../tests/support/mesh-process.ts'
import type { MeshProcess } from '../tests/support/mesh-process.ts'
import { containerGroup } from './cgroup.ts'
import { cpuMsOf } from './processes.ts'

const startTimeoutMs = 600_000

/** A real mesh with real containers in a home of its own, whose agents do not hibernate by themselves. */
export function startFleetMesh(): Promise<MeshProcess> {
  return startMesh({
    runtime: 'docker',
    cassettes: { idle: aCassette({ when: '.', turns: [says('Well.')] }) },
    environment: { FLOTILLA_NO_INSTALL: '1', FLOTILLA_LOG_LEVEL: 'warn' },
    settings: { hibernate_after_minutes: null },
  })
}

/**
 * Resolves when the agent answers, after its container was created and started. Rejects with the reply of the mesh
 * otherwise.
 */
export async function startAgent(mesh: MeshProcess, id: string): Promise<void> {
  const reply = await mesh.call(meshHumanEndpoints.agentRestart, {
    params: { id },
    timeoutMs: startTimeoutMs,
  })
  if (reply.status >= 300) throw new Error(`${id} did not start: HTTP ${reply.status} ${reply.text}`)
}

/** Measures the share of one core that a process uses over `overMs`, percent. */
export async function cpuShare(pid: number, overMs: number, signal: AbortSignal): Promise<number> {
  const before = cpuMsOf(pid)
  const startedAt = performance.now()
  await delay(overMs, undefined, { signal })
  return (100 * (cpuMsOf(pid) - before)) / (performance.now() - startedAt)
}

/** Memory of a container's process together with the engine's process beside it, bytes. */
export function heldBytes(pid: number): number {
  const engineSide = Number(field(`/proc/${pid}/status`, 'PPid'))
  return containerGroup(pid).memory().usedBytes + proportionalBytes(engineSide)
}

/** Memory of a process with its part of shared pages, bytes. */
export function proportionalBytes(pid: number): number {
  return kilobytes(`/proc/${pid}/smaps_rollup`, 'Pss')
}

/** Resident memory of a process, bytes. */
export function residentBytes(pid: number): number {
  return kilobytes(`/proc/${pid}/status`, 'VmRSS')
}

function kilobytes(path: string, name: string): number {
  return Number(field(path, name).split(' ')[0]) * 1024
}

function field(path: string, name: string): string {
  const line = readFileSync(path, 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`${name}:`))
  if (line === undefined) throw new Error(`${path} does not say ${name}`)
  return line.slice(name.length + 1).trim()
}

/** Processes all items, at most this many at a time. */
export async function inParallel<Value>(
  values: readonly Value[],
  together: number,
  work: (value: Value) => Promise<void>,
): Promise<void> {
  const left = [...values]
  const one = async (): Promise<void> => {
    for (let next = left.shift(); next !== undefined; next = left.shift()) await work(next)
  }
  await Promise.all(Array.from({ length: together }, one))
}
