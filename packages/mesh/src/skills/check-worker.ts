import { parentPort, workerData } from 'node:worker_threads'
import { checkSkill } from './check-skill.ts'

/** The thread of one check; it remembers nothing and ends with its answer. */
parentPort?.postMessage(checkSkill(String(workerData)), [])
