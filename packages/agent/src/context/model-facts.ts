import { join } from 'node:path'
import type { Clock } from '@flotilla/protocol/clock'
import { stateFolder } from '../door-token.ts'
import { readJsonFile } from '../files/atomic-file.ts'
import { writeState } from '../files/state-file.ts'
import type { Log } from '@flotilla/protocol/json-log'
import { contextLimits } from '@flotilla/protocol/limits'
import { freshCalibration, ratioRange, windowMinTokens } from './calibration.ts'
import type { Calibration, LearnedWindow } from './calibration.ts'

/** Assumed when unknown: small enough for nearly every model in use, and a rejection corrects it. */
export const defaultWindowTokens = 64_000
/** How long the mesh's answer about a window is valid. */
const windowHoldsMs = 3600_000
const modelsMax = 50
const ratioMovedEnough = 0.02

export interface ModelFacts {
  readonly calibration: Calibration
  /** What recent rejections have shown; null without a recent rejection. */
  readonly learnedWindow: LearnedWindow | null
  /** The window in tokens that the mesh reported; null when the mesh has not reported one. */
  readonly meshWindowTokens: number | null
  readonly askedAt: number
}

interface KeptFacts extends ModelFacts {
  /** When the window was learned. */
  readonly learnedAt: number
}

const unknown: KeptFacts = {
  calibration: freshCalibration,
  learnedWindow: null,
  learnedAt: 0,
  meshWindowTokens: null,
  askedAt: 0,
}

/** Stores on disk what is known of each model, so that a restart does not repeat mistakes. */
export interface ModelFactStore {
  of(model: string): Promise<ModelFacts>
  learn(model: string, calibration: Calibration): Promise<void>
  /** The window is valid for `contextLimits.learnedWindowMs`; null deletes it. */
  learnWindow(model: string, window: LearnedWindow | null): Promise<void>
  /** `windowTokens` null means that the mesh was asked and does not know. */
  told(model: string, windowTokens: number | null): Promise<void>
  /** Whether the mesh's answer is missing or outdated. */
  wantsAsking(model: string): Promise<boolean>
}

export function createModelFactStore(deps: {
  dataDirectory: string
  clock: Clock
  log: Log
}): ModelFactStore {
  const path = join(deps.dataDirectory, stateFolder, 'models.json')
  let loaded: Promise<Map<string, KeptFacts>> | null = null
  let last: Promise<void> = Promise.resolve()
  const load = (): Promise<Map<string, KeptFacts>> => {
    loaded ??= readJsonFile(path).then(readModelFacts)
    return loaded
  }
  const store = async (model: string, facts: KeptFacts): Promise<void> => {
    const modelFacts = await load()
    modelFacts.delete(model)
    modelFacts.set(model, facts)
    for (const oldest of [...modelFacts.keys()].slice(0, -modelsMax)) modelFacts.delete(oldest)
    // Writes are serialized: the loops of sub-agents learn concurrently, and two writers would corrupt the file.
    last = last
      .then(() => writeState(deps.dataDirectory, path, JSON.stringify(Object.fromEntries(modelFacts))))
      // The value stays in memory if it cannot be written; a full disk must not cost a run its answer.
      .catch((err: unknown) =>
        deps.log.warn(
          { model, err },
          'failed to save facts about a model; they are kept in memory until the process ends',
        ),
      )
    await last
  }
  const of = async (model: string): Promise<KeptFacts> => {
    const facts = (await load()).get(model) ?? unknown
    const ageMs = deps.clock.now() - facts.learnedAt
    const holds = ageMs >= 0 && ageMs < contextLimits.learnedWindowMs
    return holds ? facts : { ...facts, learnedWindow: null }
  }
  return {
    of,
    learn: async (model, calibration) => {
      const facts = await of(model)
      const before = facts.calibration
      const moved = Math.abs(calibration.ratio - before.ratio) > before.ratio * ratioMovedEnough
      if (moved || calibration.confirmed !== before.confirmed) await store(model, { ...facts, calibration })
    },
    learnWindow: async (model, learnedWindow) => {
      const facts = await of(model)
      if (learnedWindow === null && facts.learnedWindow === null) return
      await store(model, { ...facts, learnedWindow, learnedAt: deps.clock.now() })
    },
    told: async (model, windowTokens) =>
      store(model, { ...(await of(model)), meshWindowTokens: windowTokens, askedAt: deps.clock.now() }),
    wantsAsking: async (model) => {
      const ageMs = deps.clock.now() - (await of(model)).askedAt
      return ageMs < 0 || ageMs > windowHoldsMs
    },
  }
}

/**
 * Pure. The mesh's answer, else what a provider has stated, else the default; never more than a rejection has shown.
 */
export function windowOf(facts: ModelFacts): number {
  const stated = facts.learnedWindow?.isStated === true ? facts.learnedWindow.tokens : null
  const known = facts.meshWindowTokens ?? stated ?? defaultWindowTokens
  return Math.max(windowMinTokens, Math.min(known, facts.learnedWindow?.tokens ?? known))
}

/** Parses the stored facts. Programs in the container can write to the file, so invalid entries are ignored. */
function readModelFacts(value: unknown): Map<string, KeptFacts> {
  const modelFacts = new Map<string, KeptFacts>()
  if (typeof value !== 'object' || value === null) return modelFacts
  for (const [model, entry] of Object.entries(value).slice(-modelsMax)) {
    const facts = readFacts(entry)
    if (facts) modelFacts.set(model, facts)
  }
  return modelFacts
}

function readFacts(value: unknown): KeptFacts | null {
  const { calibration, learnedWindow, learnedAt, meshWindowTokens, askedAt } = fieldsOf(value)
  const { ratio, confirmed } = fieldsOf(calibration)
  if (typeof ratio !== 'number' || !(ratio >= ratioRange.min && ratio <= ratioRange.max)) return null
  const learned = fieldsOf(learnedWindow)
  const tokens = windowIn(learned['tokens'])
  return {
    calibration: { ratio, confirmed: confirmed === true },
    learnedWindow: tokens === null ? null : { tokens, isStated: learned['isStated'] === true },
    learnedAt: timeIn(learnedAt),
    meshWindowTokens: windowIn(meshWindowTokens),
    askedAt: timeIn(askedAt),
  }
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>) : {} // each is checked where it is used
}

function timeIn(value: unknown): number {
  return typeof value === 'number' ? value : 0
}

function windowIn(value: unknown): number | null {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= windowMinTokens ? value : null
}
