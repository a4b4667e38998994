import { readFileSync } from 'node:fs';
import { buffer } from 'node:stream/consumers';
import {
  isGatewayUnreachable,
  isProblem,
  type Licensing,
  type OrderRecord,
  type PlaceOrderInput,
} from '../licensing.ts';
import { UsageError } from './command.ts';
import { plain, quoted } from './output.ts';

/** A call failed, and the message says what to do about it. `exitCode` replaces that of the cause. */
export class Advised extends Error {
  readonly advice: string;
  readonly exitCode: number | undefined;

  constructor(advice: string, cause: unknown, exitCode?: number) {
    super(advice, { cause });
    this.advice = advice;
    this.exitCode = exitCode;
  }
}

/** Places an order once. If an answer was lost, the client asks again under the same number. Everything else is the person's decision. */
export async function placeOrder(licensing: Licensing, order: PlaceOrderInput): Promise<OrderRecord> {
  try {
    return await licensing.orders.place(order);
  } catch (error) {
    const advice = adviceOn(error, order);
    throw advice === undefined ? error : new Advised(advice, error);
  }
}

function adviceOn(error: unknown, { channelCode, channelOrderId }: PlaceOrderInput): string | undefined {
  // People copy the command, so a shell must take it as it is. A file may have anything in both fields.
  const words = [channelCode, channelOrderId].map(String);
  const name = plain(words.map((word) => (/^[\w.:-]+$/.test(word) ? word : quoted(word))).join(' '));
  if (isProblem(error, 'outcome-unknown') && error.outcome === 'processed')
    return `The order is placed, but the answer of the platform lacks something. Look later with licensing orders get ${name}. Do not place it under another number.`;
  if (isProblem(error, 'outcome-unknown'))
    return `The order is in doubt: it may have been placed. Look later with licensing orders get ${name}. Do not place it under another number.`;
  const isOpen = isProblem(error)
    ? error.outcome !== 'not_processed'
    : isGatewayUnreachable(error) && error.sent;
  return isOpen
    ? `It is not known whether ${name} was placed. Run the same command again: the same number is never placed twice. Do not place it under another number.`
    : undefined;
}

/** Reads the order in a file, or in the standard input if the path is `-`. A text that is no order is refused here, before a request. */
export async function orderIn(path: string): Promise<PlaceOrderInput> {
  const order = await objectIn(path, 'one order, a JSON object');
  // The client would read it as its own parameter, and place nothing.
  if ('validateOnly' in order)
    throw new UsageError(`${nameOf(path)}: validateOnly is no field of an order; --dry-run does that`);
  return order as PlaceOrderInput;
}

export async function objectIn(path: string, what = 'a JSON object'): Promise<object> {
  const value = parsed(await textIn(path), nameOf(path));
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new UsageError(`${nameOf(path)} has to hold ${what}`);
  return value;
}

function nameOf(path: string): string {
  return path === '-' ? 'The standard input' : path;
}

async function textIn(path: string): Promise<string> {
  try {
    const bytes = path === '-' ? await buffer(process.stdin) : readFileSync(path);
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    throw new UsageError(`${nameOf(path)} cannot be read: ${(error as NodeJS.ErrnoException).code}`);
  }
}

const JSON_TEXT = /"[^"\\]*(?:\\.[^"\\]*)*"/g;

/**
 * Parses JSON, and refuses what `JSON.parse` would change: a number that it would round, such as a long id, and a field that is there twice,
 * of which it keeps the last.
 */
export function exactJson(text: string, name: string): unknown {
  /** The number of fields. The whole value, which is none, is visited too. */
  let fields = -1;
  const whole: unknown = JSON.parse(text, function (this: object, key, value: unknown) {
    if (!Array.isArray(this)) fields++;
    if (typeof value === 'number' && Math.abs(value) > Number.MAX_SAFE_INTEGER)
      throw new UsageError(
        `${name}: ${key || 'it'} is a number that JSON here would round. Write it as a text, in quotes`,
      );
    return value;
  });
  if (text.replaceAll(JSON_TEXT, '').split(':').length - 1 !== fields)
    throw new UsageError(`${name}: a field of an object is there twice`);
  return whole;
}

function parsed(text: string, name: string): unknown {
  try {
    return exactJson(text, name);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(
      `${name} is not JSON: ${plain((error as SyntaxError).message.replaceAll(/\s+/g, ' '))}`,
    );
  }
}
