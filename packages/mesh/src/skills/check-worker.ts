import { parentPort } from 'node:worker_threads'
import { checkSkill } from './check-skill.ts'

/** The thread that checks sources, one after the other; it says first that it is there. */
parentPort?.on('message', (source) => parentPort?.postMessage(checkSkill(String(source)), []))
parentPort?.postMessage('ready', [])
