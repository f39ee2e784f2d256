import { formatPaymentsCsv } from '@flotilla/client/format-payments-csv'
import { paymentLimits } from '@flotilla/protocol/wallet-payments'
import type { PaymentView, WalletLimits } from '@flotilla/protocol/wallet-payments'
import type { Command } from 'commander'
import { commandAction, flagOption, operand } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { formatTime } from '../terminal/format.ts'
import { renderTable } from '../terminal/table.ts'

/** Registers the commands that list payments, replace them, and resume a stopped wallet. */
export function addPaymentCommands(wallet: Command, deps: CliDeps): void {
  wallet
    .command('history')
    .summary('payments of agents and their results')
    .description(
      `The ${paymentLimits.listedMax} newest payments of all agents or of one, newest first, with their states: signed, sent, confirmed, and how they ended. A replaced or expired payment is never confirmed and no longer counts.`,
    )
    .argument('[agent]', 'id of the agent')
    .option('--csv', 'print all fields as comma-separated values')
    .addHelpText(
      'after',
      '\nExample:\n  $ flotilla wallet history scout\n  $ flotilla wallet history --csv > paid.csv',
    )
    .action(commandAction(deps, history))
  wallet
    .command('limits')
    .summary('payment limits of agents, and what is used')
    .description(
      'Shows the limits of each agent that has an address, how much is used, and whether the wallet signs payments. A limit of 0 in a permission record means the limit under wallet in config/settings.json.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla wallet limits')
    .action(commandAction(deps, limits))
  wallet
    .command('speed-up')
    .summary('send a payment again at a higher fee')
    .description(
      `Use this for a payment that is not confirmed because its fee has become too low: signs it again with the same nonce and a higher fee. Only one of both can be confirmed. At most ${paymentLimits.replacementsMax} times, and up to ${paymentLimits.replacedFeeTimesMax} times the first fee; the higher fee counts against the limits.`,
    )
    .argument('<payment>', 'id of the payment, from flotilla wallet history')
    .addHelpText('after', '\nExample:\n  $ flotilla wallet speed-up pay_7Hq2mXc4Rt9Lw0Zb')
    .action(commandAction(deps, (context, line) => replace(context, line, 'speed-up')))
  wallet
    .command('cancel')
    .summary('cancel a payment that is not confirmed')
    .description(
      'Signs an empty transaction with the same nonce as a payment that is not confirmed yet. The chain confirms one of both: either the payment stays valid, or it is cancelled and only the fee counts.',
    )
    .argument('<payment>', 'id of the payment, from flotilla wallet history')
    .addHelpText('after', '\nExample:\n  $ flotilla wallet cancel pay_7Hq2mXc4Rt9Lw0Zb')
    .action(commandAction(deps, (context, line) => replace(context, line, 'cancel')))
  wallet
    .command('resume')
    .summary('let a stopped wallet sign again')
    .description(
      'A wallet stops when a chain has transactions that this mesh did not sign, or when a contract did more than its simulation showed. Check the reason with flotilla wallet limits, stop any other mesh with the same seed, then resume. On Solana this also trusts the existing transactions of all addresses, which ends a long check of their signers.',
    )
    .addHelpText('after', '\nExample:\n  $ flotilla wallet resume')
    .action(commandAction(deps, resume))
}

async function history(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, signal } = context
  const [agentId] = line.operands
  const reply = await (
    await context.mesh()
  ).call('walletPayments', { query: agentId === undefined ? {} : { agent_id: agentId }, signal })
  terminal.printJson(reply)
  if (flagOption(line, 'csv')) terminal.print(...formatPaymentsCsv(reply.payments))
  else if (reply.payments.length === 0) terminal.print('There are no payments yet.')
  else terminal.print(...renderTable(columns, reply.payments.map(paymentRow)))
}

async function replace(
  context: CommandContext,
  line: CommandLine,
  how: 'speed-up' | 'cancel',
): Promise<void> {
  const { terminal, signal } = context
  const payment = await (
    await context.mesh()
  ).call('walletPaymentReplace', { params: { id: operand(line, 0) }, body: { do: how }, signal })
  terminal.printJson(payment)
  terminal.hint(
    `Signed as ${payment.tx_id}, and ${payment.note === '' ? payment.state : payment.note}. It counts for at most ${payment.counted_usd} USD now.`,
    'Next: flotilla wallet history',
  )
}

const columns = ['ID', 'SIGNED', 'AGENT', 'STATE', 'COUNTED', 'WHAT', 'TRANSACTION'].map((title) => ({
  title,
}))

function paymentRow(payment: PaymentView): string[] {
  const state = payment.note === '' ? payment.state : `${payment.state} (${payment.note})`
  return [
    payment.id,
    `${formatTime(payment.signed_at)} UTC`,
    payment.agent_id,
    state,
    payment.given_back ? 'given back' : `${payment.counted_usd} USD`,
    payment.what,
    payment.tx_id,
  ]
}

async function limits(context: CommandContext): Promise<void> {
  const now = await (await context.mesh()).call('walletLimitsNow', { signal: context.signal })
  context.terminal.printJson(now)
  show(context, now)
}

async function resume(context: CommandContext): Promise<void> {
  const { terminal, signal } = context
  const resumed = await (await context.mesh()).call('walletResume', { signal })
  terminal.printJson(resumed)
  terminal.print(
    resumed.was_stopped === null
      ? 'The wallet was not stopped.'
      : `The wallet signs again. It was stopped: ${resumed.was_stopped}.`,
  )
  show(context, resumed)
}

const limitColumns = ['AGENT', 'MAY PAY', 'EACH', 'A DAY', 'AN HOUR', 'CHAINS', 'CONTRACTS'].map((title) => ({
  title,
}))

function show({ terminal }: CommandContext, now: WalletLimits): void {
  if (now.stopped !== null) {
    terminal.hint(`The wallet signs no payments: ${now.stopped}. Next: flotilla wallet resume`)
  }
  terminal.print(
    `Open payments: ${now.open}. Payments above ${now.approve_above_usd} USD, and the first payment to an address, need an approval.`,
  )
  if (now.agents.length === 0) {
    terminal.hint('No agent has an address yet. Next: flotilla wallet addresses AGENT')
    return
  }
  terminal.print(
    ...renderTable(
      limitColumns,
      now.agents.map((agent) => [
        agent.agent_id,
        agent.may ? 'yes' : 'no',
        most(agent.per_tx_usd, 'USD'),
        `${agent.spent_today_usd} of ${most(agent.daily_usd, 'USD')}`,
        `${agent.payments_last_hour} of ${most(agent.per_hour, '')}`,
        agent.chains.join(' ') || 'none',
        agent.contracts.join(' ') || 'none',
      ]),
    ),
  )
}

function most(limit: number, unit: string): string {
  return limit === 0 ? 'any' : `${limit} ${unit}`.trim()
}
