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
      'The seed from which all wallets of the fleet are derived. The mesh stores it encrypted; no agent, page, log or unencrypted backup ever contains its keys.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla wallet init --passphrase\n  $ flotilla wallet status')
  wallet
    .command('init')
    .summary('create the seed; prints its 24 words once')
    .description(
      'Creates the seed and prints its words once. They are stored nowhere, so write them down. Anyone who has them controls all funds.',
    )
    .option('--passphrase', 'ask for a passphrase, which the mesh then needs after each start')
    .addHelpText('after', '\nExample:\n  $ flotilla wallet init --passphrase')
    .action(commandAction(deps, init))
  wallet
    .command('import')
    .summary('import the words of a seed, or encrypt it again')
    .description(
      'Asks for the words without showing them, or reads them from standard input. The same words encrypt the seed again, with another passphrase or none. Other words replace the seed if no agent has an address yet.',
    )
    .option('--passphrase', 'ask for a passphrase too; on standard input it is the second line')
    .option(
      '--first-index <number>',
      'first index for agents, if another fleet with this seed uses the lower ones',
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
    .summary('state of the wallet')
    .description('Shows whether there is a seed, and whether it is open. Never shows its words or keys.')
    .addHelpText('after', '\nExample:\n  $ flotilla wallet status')
    .action(commandAction(deps, status))
  wallet
    .command('addresses')
    .summary('addresses of all agents, or of one agent')
    .description(
      'Lists the addresses of agents. With an agent, shows its addresses, and assigns the next index if it has none. The index is permanent: no other agent gets it, even after this agent is deleted.',
    )
    .argument('[agent]', 'id of the agent')
    .addHelpText('after', '\nExample:\n  $ flotilla wallet addresses\n  $ flotilla wallet addresses scout')
    .action(commandAction(deps, addresses))
  wallet
    .command('balances')
    .summary('balances in the native coin of each chain')
    .description(
      `Asks the RPC endpoint of each chain under wallet.chains of config/settings.json (${chainNames.join(', ')}) for the balances of your address and the ${walletLimits.balancesMax} newest, or of one agent. Each endpoint must first report the right chain id.`,
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
  const holds = amount === null ? `unknown: ${problem ?? ''}` : `${amount} ${coin}`
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
    'Write these words down on paper, in this order. They are shown only once and stored nowhere. Anyone who has them controls all funds:',
    '',
    ...numbered(reply.mnemonic.split(' ')),
    '',
    `Created the seed. Your own address, which no agent gets: ${reply.wallet.owner_address ?? ''}.`,
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
  printWallet(context, reply)
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
  printWallet(context, reply)
}

async function status(context: CommandContext): Promise<void> {
  printWallet(context, await (await context.mesh()).call('walletStatus', { signal: context.signal }))
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

function printWallet({ terminal }: CommandContext, wallet: WalletStatus): void {
  terminal.printJson(wallet)
  terminal.hint(stateWords[wallet.state](wallet))
  if (wallet.owner_address !== null) {
    // If the seed cannot be read, it is unknown whether it has a passphrase.
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

/** Asks for a new passphrase, at a terminal twice, because the input is hidden. */
async function newPassphrase(context: CommandContext): Promise<string> {
  if (context.input.isTTY !== true) {
    return requireLine(linesOf(await readAll(context.input))[0], 'a passphrase')
  }
  const typed = await askHidden(context, 'New passphrase of the wallet: ')
  if ((await askHidden(context, 'The same passphrase again: ')) === typed)
    return requireLine(typed, 'a passphrase')
  throw new CommandFailed('no-value', {
    detail: 'The passphrases are different; nothing was changed.',
    repair: 'Run the command again, and type the same passphrase twice.',
  })
}

function linesOf(text: string): readonly string[] {
  return text.split(/\r?\n/)
}

function requireLine(typed: string | undefined, what: string): string {
  if (typed !== undefined && typed.trim() !== '') return typed
  throw new CommandFailed('no-value', {
    detail: `The command needs ${what}, but standard input is empty.`,
    repair: `Type ${what} when asked, or send it on standard input.`,
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
