import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { arch } from 'node:os'
import { createInterface } from 'node:readline'

export interface Anvil {
  readonly url: string
  /** Address as `host:port`, the form that settings use. */
  readonly place: string
  rpc(method: string, params: readonly unknown[]): Promise<unknown>
  close(): Promise<void>
}

const cpus: Readonly<Record<string, string>> = { x64: 'amd64', arm64: 'arm64' }

/** Path of the program; null when there is no build for this processor. */
export const anvilProgram = findProgram()

function findProgram(): string | null {
  try {
    return createRequire(import.meta.url).resolve(`@foundry-rs/anvil-linux-${cpus[arch()] ?? ''}/bin/anvil`)
  } catch {
    return null
  }
}

/**
 * A real EVM chain with this chain id, in a process of its own on a free port. `network` is the family of chains
 * whose predeployed contracts it has.
 */
export async function startAnvil(chainId: number, network = 'ethereum'): Promise<Anvil> {
  if (anvilProgram === null) throw new Error('there is no anvil here')
  const place0 = ['--host', '127.0.0.1', '--port', '0']
  const words = [...place0, '--chain-id', String(chainId), '--accounts', '1', '--network', network]
  const child = spawn(anvilProgram, words, { stdio: ['ignore', 'pipe', 'ignore'] })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  const place = await new Promise<string>((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => reject(new Error(`anvil ended with ${code}`)))
    createInterface(child.stdout).on('line', (line) => {
      const heard = /Listening on (127\.0\.0\.1:\d+)/.exec(line)?.[1]
      if (heard !== undefined) resolve(heard)
    })
  })
  const url = `http://${place}`
  const anvil: Anvil = {
    url,
    place,
    async rpc(method, params) {
      const reply = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      })
      const answer = (await reply.json()) as { result?: unknown; error?: { message: string } }
      if (answer.error) throw new Error(answer.error.message)
      return answer.result
    },
    async close() {
      child.kill('SIGKILL')
      await ended
    },
  }
  if (chainId === base) await anvil.rpc('anvil_setCode', [dataFeeOracle, tellsDataFee])
  return anvil
}

/** The contract that chains of this kind have from their first block: it returns the data fee of a transaction. */
export const dataFeeOracle = '0x420000000000000000000000000000000000000F'
const base = 8453
export const dataFeeRaw = 1_000_000_007n
export const operatorFeeRaw = 30_011n
const word = (value: bigint): string => value.toString(16).padStart(64, '0')
/**
 * Bytecode that returns one word to `getOperatorFee(uint256)` (recognized by its selector, the first four bytes of
 * the call) and another word to every other call.
 */
const tellsDataFee = `0x60003560e01c63275aedd2146038577f${word(dataFeeRaw)}60005260206000f35b7f${word(operatorFeeRaw)}60005260206000f3`
