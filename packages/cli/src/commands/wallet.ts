import { chainNames, walletLimits } from '@flotilla/protocol/wallet-api'
import type { WalletAddress, WalletBalance, WalletStatus } from '@flotilla/protocol/wallet-api'
import type { Command } from 'commander'
import { commandAction, flagOption, numberOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { formatTime } from '../terminal/format.ts'
import { askHidden, readAll } from '../terminal/read-secret.ts'
import { renderTable } from '../terminal/table.ts'
import { addPaymentCommands } from './wallet-payments.ts'
import { wholeNumber } from '../number-argument.ts'

const wordsPerLine = 4

export function addWalletCommand(program: Command, deps: CliDeps): void {
  const wallet = program
    .command('wallet')
    .description(
      'The seed that all wallets of the fleet come of. The mesh keeps it sealed; no agent, page, log or backup in clear ever holds a key of it.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla wallet init --passphrase\n  $ flotilla wallet status')
  wallet
    .command('init')
    .summary('make the seed; prints its 24 words once')
    .description(
      'Makes the seed and prints its words, once: they are kept nowhere, so write them down. Whoever has them has all the money.',
    )
    .option('--passphrase', 'ask for a passphrase that the mesh wants after each start')
    .addHelpText('after', '\nExample:\n  $ flotilla wallet init --passphrase')
    .action(commandAction(deps, init))
  wallet
    .command('import')
    .summary('take in the words of a seed, or seal it anew')
    .description(
      'Asks for the words without showing them, or reads them from standard input. The same words seal the seed anew, with another passphrase or none; others take its place while no agent has an address of it.',
    )
    .option('--passphrase', 'ask for a passphrase too; on standard input it is the second line')
    .option(
      '--first-index <number>',
      'give agents no index below it: another fleet of this seed gave them away',
      wholeNumber(1, walletLimits.indexMax),
    )
    .addHelpText('after', '\nExample:\n  $ flotilla wallet import --first-index 40')
    .action(commandAction(deps, takeIn))
  wallet
    .command('unlock')
    .summary('open the seed with its passphrase until the mesh stops')
    .description('Asks for the passphrase without showing it, or reads it from standard input.')
    .addHelpText('after', '\nExample:\n  $ flotilla wallet unlock')
    .action(commandAction(deps, unlock))
  wallet
    .command('status', { isDefault: true })
    .summary('whether there is a seed, and whether it is open')
    .description('Shows whether there is a seed, and whether it is open. Never a word or a key of it.')
    .addHelpText('after', '\nExample:\n  $ flotilla wallet status')
    .action(commandAction(deps, status))
  wallet
    .command('addresses')
    .summary('whose address is whose, or the address of one agent')
    .description(
      'Lists the addresses that agents have. With an agent, shows its own, and gives it the next index for good where it has none: no other agent ever gets that one, also once this one is deleted.',
    )
    .argument('[agent]', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla wallet addresses\n  $ flotilla wallet addresses scout')
    .action(commandAction(deps, addresses))
  wallet
    .command('balances')
    .summary('what the addresses hold of each chain’s own coin')
    .description(
      `Asks the RPC of each chain under wallet.chains of config/settings.json (${chainNames.join(', ')}), which first has to say that it is that chain: of your address and the ${walletLimits.balancesMax} newest, or of one agent.`,
    )
    .argument('[agent]', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla wallet balances')
    .action(commandAction(deps, balances))
  addPaymentCommands(wallet, deps)
}

async function balances(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const [agentId] = line.operands
  const reply = await (
    await context.mesh()
  ).call('walletBalances', { query: agentId === undefined ? {} : { agent_id: agentId }, signal })
  terminal.printJson(reply)
  if (reply.chains.length === 0) {
    terminal.print(
      'No chain is set up. Write {"wallet": {"chains": {"base": {"rpc_url": "https://..."}}}} into config/settings.json.',
    )
  } else terminal.print(...renderTable(balanceColumns, reply.balances.map(balanceRow)))
}

const balanceColumns = ['CHAIN', 'WHOSE', 'INDEX', 'ADDRESS', 'HOLDS'].map((title) => ({ title }))

function balanceRow({
  chain,
  agent_id: agentId,
  index,
  address,
  amount,
  coin,
  problem,
}: WalletBalance): string[] {
  const holds = amount === null ? `not known: ${problem ?? ''}` : `${amount} ${coin}`
  return [chain, agentId ?? 'you', String(index), address ?? '-', holds]
}

async function init(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const client = await context.mesh()
  const passphrase = flagOption(line, 'passphrase') ? await newPassphrase(context) : undefined
  const reply = await client.call('walletInit', {
    body: passphrase === undefined ? {} : { passphrase },
    signal,
  })
  terminal.printJson(reply)
  terminal.hint(
    'Write these words down on paper, in this order. They are shown this once and kept nowhere, and whoever has them has all the money:',
    '',
    ...numbered(reply.mnemonic.split(' ')),
    '',
    `Made: the seed of ${reply.wallet.owner_address ?? ''}, your own address, which no agent is given.`,
    'Next: flotilla wallet addresses AGENT gives an agent its addresses.',
  )
}

async function takeIn(context: CommandContext, line: CommandLine): Promise<void> {
  const client = await context.mesh()
  const wantsPassphrase = flagOption(line, 'passphrase')
  const firstIndex = numberOption(line, 'firstIndex')
  const [mnemonic = '', typed] =
    context.input.isTTY === true
      ? [await askHidden(context, 'The words: '), wantsPassphrase ? await newPassphrase(context) : undefined]
      : linesOf(await readAll(context.input))
  const passphrase = wantsPassphrase ? requireLine(typed, 'a passphrase on the second line') : undefined
  const reply = await client.call('walletImport', {
    body: {
      mnemonic: requireLine(mnemonic, 'the words'),
      ...(passphrase === undefined ? {} : { passphrase }),
      ...(firstIndex === undefined ? {} : { first_index: firstIndex }),
    },
    signal: context.signal,
  })
  say(context, reply)
}

async function unlock(context: CommandContext): Promise<void> {
  const client = await context.mesh()
  const typed =
    context.input.isTTY === true
      ? await askHidden(context, 'Passphrase of the wallet: ')
      : linesOf(await readAll(context.input))[0]
  const reply = await client.call('walletUnlock', {
    body: { passphrase: requireLine(typed, 'the passphrase') },
    signal: context.signal,
  })
  say(context, reply)
}

async function status(context: CommandContext): Promise<void> {
  say(context, await (await context.mesh()).call('walletStatus', { signal: context.signal }))
}

async function addresses(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const client = await context.mesh()
  const [agentId] = line.operands
  const given =
    agentId === undefined
      ? (await client.call('walletAddresses', { signal })).addresses
      : [await client.call('walletAddressGive', { body: { agent_id: agentId }, signal })]
  terminal.printJson({ addresses: given })
  if (given.length === 0) {
    terminal.hint('No agent has an address yet. Next: flotilla wallet addresses AGENT')
  } else terminal.print(...renderTable(columns, given.map(row)))
}

const columns = ['AGENT', 'INDEX', 'EVM', 'SOLANA'].map((title) => ({ title }))

function row(given: WalletAddress): string[] {
  const agent = given.agent_gone_at === null ? given.agent_id : `${given.agent_id} (deleted)`
  return [agent, String(given.index), given.evm, given.solana]
}

function say({ terminal }: CommandContext, wallet: WalletStatus): void {
  terminal.printJson(wallet)
  terminal.hint(stateWords[wallet.state](wallet))
  if (wallet.owner_address !== null) {
    // Of one that cannot be read, nobody knows that.
    const passphrase =
      wallet.state === 'lost' ? '' : `, ${wallet.passphrase ? 'with' : 'without'} a passphrase`
    terminal.print(
      `Seed of ${wallet.owner_address}${wallet.made_at === null ? '' : `, ${wallet.made} ${formatTime(wallet.made_at)} UTC`}${passphrase}.`,
      `Addresses of agents: ${wallet.addresses}.`,
    )
  }
}

const stateWords: Readonly<Record<WalletStatus['state'], (wallet: WalletStatus) => string>> = {
  none: () => 'There is no wallet. Next: flotilla wallet init, or flotilla wallet import',
  locked: () => 'The wallet is locked. Next: flotilla wallet unlock',
  open: () => 'The wallet is open.',
  lost: ({ fault }) => `The wallet is lost: ${fault ?? ''}. Next: flotilla wallet import`,
}

/** Typed twice at a terminal, where nobody sees what they type. */
async function newPassphrase(context: CommandContext): Promise<string> {
  if (context.input.isTTY !== true) {
    return requireLine(linesOf(await readAll(context.input))[0], 'a passphrase')
  }
  const typed = await askHidden(context, 'New passphrase of the wallet: ')
  if ((await askHidden(context, 'The same once more: ')) === typed) return requireLine(typed, 'a passphrase')
  throw new CommandFailed('no-value', {
    detail: 'The two are not the same; nothing was done.',
    repair: 'Begin again, and type the same passphrase twice.',
  })
}

function linesOf(text: string): readonly string[] {
  return text.split(/\r?\n/)
}

function requireLine(typed: string | undefined, what: string): string {
  if (typed !== undefined && typed.trim() !== '') return typed
  throw new CommandFailed('no-value', {
    detail: `This wants ${what}, and nothing was given.`,
    repair: 'Type it when asked, or send it in on standard input.',
  })
}

function numbered(words: readonly string[]): string[] {
  const cells = words.map((word, at) => `${String(at + 1).padStart(2)} ${word.padEnd(10)}`)
  return Array.from({ length: Math.ceil(cells.length / wordsPerLine) }, (_, at) =>
    cells
      .slice(at * wordsPerLine, (at + 1) * wordsPerLine)
      .join(' ')
      .trimEnd(),
  )
}
