await (args[0] switch
{
    "buy" => Buy.Run(args[1]),
    "assets" => Assets.Run(),
    "feed" => Feed.Run(),
    _ => Receiver.Run(),
});
