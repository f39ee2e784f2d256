import { parentPort, workerData } from 'node:worker_threads'
import { textWorkSchema, workOnText } from './policy-text.ts'

/** The thread that does one piece of work on a long text of a policy and ends. */
parentPort?.postMessage(workOnText(textWorkSchema.parse(workerData)), [])
