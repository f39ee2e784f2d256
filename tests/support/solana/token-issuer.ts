import {
  address,
  appendTransactionMessageInstructions,
  createSolanaRpc,
  createTransactionMessage,
  generateKeyPairSigner,
  getAddressEncoder,
  getBase64EncodedWireTransaction,
  getSignatureFromTransaction,
  lamports,
  pipe,
  setTransactionMessageFeePayerSigner,
  setTransactionMessageLifetimeUsingBlockhash,
  signTransactionMessageWithSigners,
} from '@solana/kit'
import type { Address, Instruction, KeyPairSigner } from '@solana/kit'
import { getCreateAccountInstruction } from '@solana-program/system'
import {
  findAssociatedTokenPda,
  getCreateAssociatedTokenIdempotentInstruction,
  getInitializeMint2Instruction,
  getMintToInstruction,
} from '@solana-program/token'
import { token2022Program, tokenProgram } from '../../../packages/wallet/src/solana/token-layout.ts'
import type { SolanaServer } from './rpc-server.ts'

/** A Token-2022 extension: the additional size of its mint account, and the instruction that initializes it. */
export interface MintExtension {
  readonly bytes: number
  readonly data: Uint8Array
}

export interface TokenIssuer {
  /** Creates a token, of the older program unless it has extensions or `newer` is set. */
  mint(token: {
    readonly decimals: number
    readonly extensions?: readonly MintExtension[]
    readonly newer?: boolean
    readonly canFreeze?: boolean
  }): Promise<string>
  give(mint: string, owner: string, raw: bigint): Promise<void>
  /** Balance of an owner's associated account; 0 if there is no account. */
  holds(mint: string, owner: string): Promise<bigint>
  account(mint: string, owner: string): Promise<Address>
  /** Signs as the issuer, sends and waits until the transaction landed; throws if it failed. */
  send(instructions: readonly Instruction[]): Promise<void>
  readonly signer: KeyPairSigner
}

const plainMintBytes = 82
const kindEndsAt = 166

/** Creates and distributes tokens, with the official client alone. */
export async function createTokenIssuer(server: SolanaServer): Promise<TokenIssuer> {
  const rpc = createSolanaRpc(server.url)
  const issuer = await generateKeyPairSigner()
  await rpc.requestAirdrop(issuer.address, lamports(100_000_000_000n)).send()
  const programs = new Map<string, Address>()
  const programOf = (mint: string) => programs.get(mint) ?? address(tokenProgram)

  async function send(instructions: readonly Instruction[]): Promise<void> {
    const { value: blockhash } = await rpc.getLatestBlockhash().send()
    const message = pipe(
      createTransactionMessage({ version: 0 }),
      (empty) => setTransactionMessageFeePayerSigner(issuer, empty),
      (paid) => setTransactionMessageLifetimeUsingBlockhash(blockhash, paid),
      (placed) => appendTransactionMessageInstructions(instructions, placed),
    )
    const signed = await signTransactionMessageWithSigners(message)
    await rpc.sendTransaction(getBase64EncodedWireTransaction(signed), { encoding: 'base64' }).send()
    const landed = server.chain.landed(getSignatureFromTransaction(signed))
    if (landed === null || landed.err !== null) throw new Error(`it did not land: ${JSON.stringify(landed)}`)
    server.chain.advance(1)
  }

  async function account(mint: string, owner: string): Promise<Address> {
    const seeds = { mint: address(mint), owner: address(owner), tokenProgram: programOf(mint) }
    return (await findAssociatedTokenPda(seeds))[0]
  }

  return {
    signer: issuer,
    send,
    account,
    async mint({ decimals, extensions = [], newer = false, canFreeze = false }) {
      const programAddress = address(newer || extensions.length > 0 ? token2022Program : tokenProgram)
      const mint = await generateKeyPairSigner()
      const space =
        extensions.length === 0
          ? plainMintBytes
          : extensions.reduce((sum, { bytes }) => sum + 4 + bytes, kindEndsAt)
      await send([
        getCreateAccountInstruction({
          payer: issuer,
          newAccount: mint,
          lamports: server.chain.svm.rentExemption(space),
          space,
          programAddress,
        }),
        ...extensions.map(({ data }) => ({
          programAddress,
          accounts: [{ address: mint.address, role: 1 as const }],
          data,
        })),
        getInitializeMint2Instruction(
          {
            mint: mint.address,
            decimals,
            mintAuthority: issuer.address,
            freezeAuthority: canFreeze ? issuer.address : null,
          },
          { programAddress },
        ),
      ])
      programs.set(mint.address, programAddress)
      return mint.address
    },
    async give(mint, owner, raw) {
      const programAddress = programOf(mint)
      const ata = await account(mint, owner)
      await send([
        getCreateAssociatedTokenIdempotentInstruction({
          payer: issuer,
          ata,
          owner: address(owner),
          mint: address(mint),
          tokenProgram: programAddress,
        }),
        getMintToInstruction(
          { mint: address(mint), token: ata, mintAuthority: issuer, amount: raw },
          { programAddress },
        ),
      ])
    },
    async holds(mint, owner) {
      const ata = await account(mint, owner)
      const found = server.chain.svm.account(new Uint8Array(getAddressEncoder().encode(ata)))
      return found === null || found.data.length < 72 ? 0n : found.data.readBigUInt64LE(64)
    },
  }
}

/** Encodes an authority: no authority for null, else the 32 bytes of the address. */
function authority(text: string | null): Uint8Array {
  return text === null ? new Uint8Array(32) : new Uint8Array(getAddressEncoder().encode(address(text)))
}

/** `bps` of 10,000 of every transfer, at most `maximum` base units. */
export function transferFee(bps: number, maximum: bigint): MintExtension {
  const rule = Buffer.alloc(10)
  rule.writeUInt16LE(bps)
  rule.writeBigUInt64LE(maximum, 2)
  // Neither authority is set.
  return { bytes: 108, data: Buffer.concat([Buffer.of(26, 0, 0, 0), rule]) }
}

export function permanentDelegate(delegate: string): MintExtension {
  return { bytes: 32, data: Buffer.concat([Buffer.of(35), authority(delegate)]) }
}

export function transferHook(owner: string, program: string | null): MintExtension {
  return { bytes: 64, data: Buffer.concat([Buffer.of(36, 0), authority(owner), authority(program)]) }
}

export const nonTransferable: MintExtension = { bytes: 0, data: Buffer.of(32) }
