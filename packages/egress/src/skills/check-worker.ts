import { parentPort } from 'node:worker_threads'
import { checkSkill } from './check-skill.ts'

/** The thread that checks sources, one after the other; its first message says that it is ready. */
parentPort?.on('message', (source) => parentPort?.postMessage(checkSkill(String(source)), []))
parentPort?.postMessage('ready', [])
