import { createHash } from 'node:crypto'
import { idPrefixes } from '@flotilla/protocol/ids'
import type { ToolEffect } from '../tools/tool.ts'

/** SHA-256 in hex, cut to 32 digits, to compare texts. */
export function fingerprint(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 32)
}

const newId = new RegExp(`\\b(${idPrefixes.join('|')})_[0-9a-z]{1,32}\\b`, 'g')

/**
 * The fingerprint of a result for the loop detector. The mesh makes a new id for each task, message or request, so ids
 * do not make the results of two equal calls different; in results of calls without effects, a new id is news. Pure.
 */
export function resultFingerprint(output: string, effect: ToolEffect | undefined): string {
  return fingerprint(effect === 'mesh' ? output.replace(newId, '$1') : output)
}
