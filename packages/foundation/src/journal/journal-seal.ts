import { createHmac } from 'node:crypto'

/** A MAC over a text under a secret that is not in the database. */
export type JournalSeal = (text: string) => string

/** The key is derived from the mesh's secret for this one purpose. */
export function createJournalSeal(meshSecret: string): JournalSeal {
  const key = createHmac('sha256', meshSecret).update('flotilla journal seal').digest()
  return (text) => createHmac('sha256', key).update(text).digest('hex')
}

/** The text of a head over which its seal is computed. Pure. */
export function headText(head: {
  readonly seq: number
  readonly count: number
  readonly hash: string
}): string {
  return `head\n${head.seq}\n${head.count}\n${head.hash}`
}

/** The text of a checkpoint over which its seal is computed, in the database and outside of it. Pure. */
export function checkpointText(checkpoint: {
  readonly seq: number
  readonly hash: string
  readonly kind: string
  readonly at: number
}): string {
  const { seq, hash, kind, at } = checkpoint
  return `checkpoint\n${seq}\n${hash}\n${kind}\n${at}`
}
