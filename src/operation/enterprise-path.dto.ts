import { Names } from '../tenancy/names.ts';
import { PathId } from '../validation/rules.ts';

export class EnterprisePath {
  /** Global id of the enterprise's main account. Only enterprises granted to the caller. */
  @PathId({ example: 'ent-harbour' })
  @Names('enterprise')
  enterpriseGlobalId!: string;
}
