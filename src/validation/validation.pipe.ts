import { type ArgumentMetadata, Injectable, type PipeTransform } from '@nestjs/common';
import { checked, validBody, validParameters } from './validation.guard.ts';

/** Gives the handler the instances that the validation guard has made. A part that the guard has not seen is checked here. */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type === 'custom' || !metatype) return value;
    const known = typeof value === 'object' && value !== null ? checked.get(value) : undefined;
    if (known instanceof metatype) return known;
    return type === 'body' ? validBody(value, metatype) : validParameters(value, metatype);
  }
}
