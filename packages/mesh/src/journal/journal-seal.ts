import { createHmac } from 'node:crypto'

/** A MAC over a text under a secret that is not in the database. */
export type JournalSeal = (text: string) => string

/** The key is derived, so that the mesh's secret seals nothing but the journal here. */
export function createJournalSeal(meshSecret: string): JournalSeal {
  const key = createHmac('sha256', meshSecret).update('flotilla journal seal').digest()
  return (text) => createHmac('sha256', key).update(text).digest('hex')
}

/** Text of a head that is sealed. Pure. */
export function headText(head: {
  readonly seq: number
  readonly count: number
  readonly hash: string
}): string {
  return `head\n${head.seq}\n${head.count}\n${head.hash}`
}

/** Text of a checkpoint that is sealed, in the database and outside of it. Pure. */
export function checkpointText(checkpoint: {
  readonly seq: number
  readonly hash: string
  readonly kind: string
  readonly at: number
}): string {
  const { seq, hash, kind, at } = checkpoint
  return `checkpoint\n${seq}\n${hash}\n${kind}\n${at}`
}
