import { parentPort } from 'node:worker_threads'
import { readFolder } from './read-folder.ts'
import { gate, gateAskMs, piecesAhead } from './scan-messages.ts'
import type { ScanOrder, ScanWord } from './scan-messages.ts'

/** Runs the scans of the scan thread. The thread has no state, so another thread can replace it at any time. */
parentPort?.on('message', (order: ScanOrder) => {
  let handed = 0
  const send = (word: ScanWord, moved: readonly ArrayBuffer[] = []) =>
    parentPort?.postMessage(word, [...moved])
  const isStopped = () => Atomics.load(order.gate, gate.stopped) === 1
  const end = readFolder(order.path, order.pattern, (piece) => {
    if (isStopped()) return false
    send({ kind: 'piece', piece }, [piece.numbers.buffer])
    handed++
    for (;;) {
      const taken = Atomics.load(order.gate, gate.takenPieces)
      if (isStopped()) return false
      if (handed - taken < piecesAhead) return true
      Atomics.wait(order.gate, gate.takenPieces, taken, gateAskMs)
    }
  })
  send({ kind: 'end', end })
})
